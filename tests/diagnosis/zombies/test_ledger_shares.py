from __future__ import annotations

from necroscope.diagnosis.zombies.ledger_shares import shares_by
from necroscope.sources.cgroup_ledger import LedgerGroup


def group(pattern: str, creator: str, unit: str, zombies: int) -> LedgerGroup:
    made = zombies + 5
    example = pattern.replace("#", "1")
    return LedgerGroup(pattern, creator, "/c", unit, creator, unit, made, made, 5, zombies, zombies, example)


GROUPS = (
    group("/ecs/#", "runc", "containerd.service", 30),
    group("/ecs/#", "crun", "crio.service", 50),
    group("/system.slice/a.service", "systemd", "init.scope", 7),
    group("/lost/#", "", "", 1),
)


def test_by_path() -> None:
    shares = shares_by(GROUPS, "path")
    assert [(s.name, s.zombies, s.made) for s in shares][:2] == [
        ("/ecs/#", 80, 90),
        ("/system.slice/a.service", 7, 12),
    ]
    assert shares[0].creators == ("crun", "runc")
    assert shares[0].example == "/ecs/1"


def test_by_creator() -> None:
    names = [(s.name, s.zombies) for s in shares_by(GROUPS, "creator")]
    assert names == [("crun", 50), ("runc", 30), ("systemd", 7), ("unknown", 1)]


def test_by_unit_a_path_that_names_one_comes_before_who_made_it() -> None:
    names = [(s.name, s.zombies) for s in shares_by(GROUPS, "unit")]
    assert names == [("crio.service", 50), ("containerd.service", 30), ("a.service", 7), ("unknown", 1)]


def test_nothing_is_lost_in_adding_up() -> None:
    for by in ("path", "creator", "unit"):
        assert sum(s.made for s in shares_by(GROUPS, by)) == sum(g.made for g in GROUPS)
