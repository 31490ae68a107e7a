"""What a purge does is shown on real zombies: tests/real/test_purge.py and test_purge_kernels.py."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.faults.zombies import HIERARCHY, why_not
from lab.machines.nspawn import Container
from lab.machines.nspawn import why_not as why_no_container
from necroscope.errors import CannotLookError, UsageError
from necroscope.model.plan import Treatment
from necroscope.model.remedy_ids import PURGE_ZOMBIES
from necroscope.remedies.actions.catalog import ALL_ACTIONS
from necroscope.remedies.actions.counting import limit
from necroscope.remedies.actions.holding import Holding
from necroscope.remedies.plan import purge_zombies
from necroscope.remedies.plan.make_plan import make_plan
from necroscope.remedies.plan.purge_zombies import plan_purge_zombies
from necroscope.sources.host import Host

needs_v1 = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
CHECKOUT = Path(__file__).parents[3]
PLAN = """
from necroscope.errors import NecroscopeError
from necroscope.remedies.plan.purge_zombies import plan_purge_zombies
from necroscope.sources.host import Host
try:
    plan_purge_zombies(Host(), "")
except NecroscopeError as error:
    print(error.slug, error.what, error.hint)
"""


@pytest.fixture(autouse=True)
def no_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two counts of a quiet machine are as good at once as two seconds apart."""
    monkeypatch.setattr(purge_zombies, "limit", lambda name: 0.0 if name == "watch" else limit(name))


@pytest.fixture
def parents() -> Iterator[list[Path]]:
    """Two real memory cgroups, which a test may remove."""
    folders = [HIERARCHY / f"necroscope-lab-{os.getpid()}-{name}" for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
    yield folders
    for folder in folders:
        if folder.exists():
            folder.rmdir()


def test_an_image_has_nothing_to_purge(tmp_path: Path) -> None:
    with pytest.raises(CannotLookError, match="an image"):
        plan_purge_zombies(Host(tmp_path), "")


@needs_v1
@pytest.mark.parametrize("path", ["/not/there", "/../cpu"])
def test_a_cgroup_that_does_not_exist_is_a_mistake_of_the_user(path: str) -> None:
    with pytest.raises(UsageError, match=path):
        plan_purge_zombies(Host(), path)


@needs_v1
def test_a_parent_that_is_gone_keeps_its_step_which_does_nothing(parents: list[Path]) -> None:
    subject = " ".join(f"/{folder.name}" for folder in parents)
    before = plan_purge_zombies(Host(), subject)
    parents[0].rmdir()
    after = plan_purge_zombies(Host(), subject)
    assert (after.steps, after.assumptions, after.subject) == (before.steps, before.assumptions, subject)
    assert f"there is no memory cgroup /{parents[0].name} now" in "\n".join(after.warnings)
    gone = after.steps[0]
    assert ALL_ACTIONS[gone.action].do(Host(), gone) == "not needed: the cgroup is gone"


@needs_v1
def test_where_all_parents_are_gone_there_is_nothing_to_plan(parents: list[Path]) -> None:
    subject = " ".join(f"/{folder.name}" for folder in parents)
    for folder in parents:
        folder.rmdir()
    with pytest.raises(UsageError, match=subject):
        plan_purge_zombies(Host(), subject)


@needs_v1
def test_beside_one_that_exists_no_path_may_lead_out(parents: list[Path]) -> None:
    with pytest.raises(UsageError, match=r"/\.\./cpu$"):
        plan_purge_zombies(Host(), f"/{parents[0].name} /../cpu")


@needs_v1
def test_a_few_are_not_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purge_zombies, "noise_floor", lambda _host: 10**9)
    part = plan_purge_zombies(Host(), "")
    assert not part.steps and not part.by_hand
    assert "cores keep by themselves" in part.seen[0]


@needs_v1
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_what_may_not_be_written_is_said_while_planning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purge_zombies, "noise_floor", lambda _host: -1)
    monkeypatch.setattr(purge_zombies, "_is_writable", lambda _host, _name: False)
    with pytest.raises(CannotLookError, match="drop_caches") as caught:
        plan_purge_zombies(Host(), "")
    assert "--root /host" in caught.value.hint


@needs_v1
def test_read_only_settings_are_seen() -> None:
    assert not purge_zombies._is_writable(Host(), "/proc/sys/not/there")
    assert purge_zombies._is_writable(Host(), "/proc/sys/vm/drop_caches")


@pytest.mark.skipif(why_no_container() is not None, reason=str(why_no_container()))
def test_a_container_is_told_to_look_from_the_host() -> None:
    with Container(binds=(CHECKOUT,)) as machine:
        done = machine.run([sys.executable, "-c", PLAN])
    assert done.stdout.startswith("cannot-look memory cgroups cannot be seen"), done
    assert "--root /host" in done.stdout


def test_a_leak_that_goes_on_and_missing_permissions_are_warned_of() -> None:
    holding = Holding(None, (), None, "not permitted: /proc/kpagecgroup")
    warnings = "\n".join(purge_zombies._warnings(50, 2.0, holding))
    assert "the leak goes on: 50 zombies" in warnings and "Unless a step before" in warnings
    assert "not known by name: not permitted" in warnings
    assert list(purge_zombies._not_reachable(["/a", "/"], ["/a"])) == [
        "/proc/sys/vm/drop_caches cannot be written here: what it would free stays"
    ]


@needs_v1
def test_what_was_chosen_is_named_so_that_it_is_the_same_in_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purge_zombies, "noise_floor", lambda _host: -1)
    chosen = make_plan(Host(), [Treatment(PURGE_ZOMBIES, "")], [], [])
    (treatment,) = chosen.treatments
    assert treatment.subject.split()[-1] == "/"
    again = make_plan(Host(), chosen.treatments, [], [])
    assert (again.treatments, again.steps, again.assumptions) == (
        chosen.treatments,
        chosen.steps,
        chosen.assumptions,
    )


@needs_v1
def test_a_node_is_cordoned_by_its_operator_and_never_by_us(
    parents: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = f"/{parents[0].name}"
    alone = plan_purge_zombies(Host(), subject)
    monkeypatch.setenv("NODE_NAME", "node-17")
    part = plan_purge_zombies(Host(), subject)
    cordon, *others = part.by_hand
    assert cordon.commands == (
        "kubectl cordon -- node-17  # before the steps",
        "kubectl uncordon -- node-17  # after them",
    )
    assert part.steps == alone.steps
    assert not any("kubectl" in command for one in (*others, *alone.by_hand) for command in one.commands)
    assert not any("kubectl" in step.command for step in part.steps)
