"""The attack: somebody other than root decides what root does with `fix --undo` and `fix --continue`.

An undo puts back what its record calls the state before, and `--continue` does the steps of its plan. Whoever
can write a record, or put another folder in the place of the records, would have root write any file. So the
records lie where only their owner can put anything, and a record that says what no remedy of ours could have
done here is refused, whoever wrote it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from necroscope.cli.main import main
from necroscope.errors import RefusedError
from necroscope.model.fix import FixState, State
from necroscope.model.plan import Step, Treatment
from necroscope.remedies.actions.catalog import ALL_ACTIONS
from necroscope.remedies.apply.apply import apply
from necroscope.remedies.apply.fixes import read_fixes
from necroscope.remedies.apply.site import Site
from necroscope.remedies.apply.undo import undo
from necroscope.remedies.plan.catalog import ALL_REMEDIES
from necroscope.remedies.plan.make_plan import make_plan
from necroscope.sources.host import Host
from tests.remedies.trees import listing
from tests.security.forged_records import (
    CONDITION,
    ETC,
    EVIL,
    ID,
    LIMIT,
    NOTHING,
    OFF,
    OURS,
    UNIT,
    WANTED,
    WAYS,
    before_of,
    forge,
    forge_file,
    make_image,
    refused,
    step,
    words,
)
from tests.unprivileged import NOBODY

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, who is attacked")


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(Host(make_image(tmp_path / "image")), tmp_path / "store")


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("mode", ["4755", "2755", "1755", "0666", "0664", "04755", "-1", ""])
def test_no_file_is_made_setuid_or_given_to_all(site: Site, how: str, mode: str) -> None:
    before = before_of(mode, f"{os.geteuid()}:7")
    id = forge(site, [step("write-file", OFF, CONDITION)], [before], how=how)
    assert "mode " in refused(site, how, id)


@pytest.mark.parametrize("how", WAYS)
def test_a_setuid_binary_as_the_state_before_is_not_put_back(site: Site, how: str) -> None:
    forge_file(site, "/usr/bin/sh", "a shell", how, mode="4755")
    assert "no remedy writes this file" in refused(site, how)


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize(
    "target",
    [
        "/etc/passwd",
        "/root/.bashrc",
        "/root/.ssh/authorized_keys",
        "/etc/cron.d/necroscope",
        "/etc/ld.so.preload",
        f"{ETC}/{UNIT}",
        f"{ETC}/necroscope.service",
        f"{ETC}/{UNIT}.d/override.conf",
        f"{ETC}/{UNIT}.d/../../../necroscope.d/necroscope.conf",
        f"{ETC}/x.service.d/zz-necroscope-off.conf",
        f"{ETC}/{UNIT}.d/50-necroscope-banirq.conf",
        "/etc/systemd/system-preset/90-necroscope.preset",
        "etc/passwd",
        "/",
        "",
    ],
)
def test_no_other_file_is_written(site: Site, how: str, target: str) -> None:
    forge_file(site, target, "evil::0:0::/:/bin/sh\n", how)
    refused(site, how)


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize(
    ("target", "text"),
    [
        (OFF, EVIL),
        (OFF, f"{CONDITION}{EVIL}"),
        (OFF, "[Unit]\nOnFailure=evil.service\n"),
        (OFF, f"\ufeff{EVIL}"),
        (OFF, f"# quiet\r{EVIL}"),
        (OFF, f"# quiet\0{EVIL}"),
        (OFF, "\ud800"),
        (LIMIT, EVIL),
        (LIMIT, "[Unit]\nStartLimitAction=reboot-force\n"),
        (f"{ETC}/{UNIT}.d/50-necroscope-clean.conf", "[Service]\nExecStopPost=/tmp/evil\n"),
        ("/run/systemd/system/irqbalance.service.d/50-necroscope-banirq.conf", EVIL),
        (f"/etc/systemd/system-preset/00-necroscope-{UNIT}.preset", "enable evil.service\n"),
        (f"/etc/systemd/system-preset/00-necroscope-{UNIT}.preset", "# quiet\renable evil.service\n"),
        (f"/etc/systemd/system-preset/00-necroscope-{UNIT}.preset", "disable *\n"),
    ],
)
def test_no_file_of_ours_runs_what_the_record_wants(site: Site, how: str, target: str, text: str) -> None:
    remedies = ("disable-unit", "limit-crash-loop", "clean-before-removal")
    treatments = [*(Treatment(one, UNIT) for one in remedies), Treatment("move-interrupts", "1")]
    forge_file(site, target, text, how, treatments=treatments)
    refused(site, how)


@pytest.mark.parametrize("how", WAYS)
def test_no_file_is_written_through_a_link_on_the_way(site: Site, how: str) -> None:
    root = site.host.root
    (root / "tmp/elsewhere").mkdir(parents=True)
    (root / OFF.lstrip("/")).parent.rmdir()
    (root / OFF.lstrip("/")).parent.symlink_to("/tmp/elsewhere")
    forge(site, [step("write-file", OFF, CONDITION)], [before_of()], how=how)
    assert "leads to /tmp/elsewhere" in refused(site, how)


@as_root
@pytest.mark.parametrize("how", WAYS)
def test_no_file_is_given_away(site: Site, how: str) -> None:
    before = before_of(owner=f"{NOBODY}:{NOBODY}")
    forge(site, [step("write-file", OFF, CONDITION)], [before], how=how)
    assert "it is not root's" in refused(site, how)


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("folders", ["/etc/systemd", "/root/.ssh", "/", "..", f"{ETC}/{UNIT}.d\n/var/empty"])
def test_no_other_folder_is_removed(site: Site, how: str, folders: str) -> None:
    before = {"existed": "no", "folders made": folders}
    forge(site, [step("write-file", f"{ETC}/{UNIT}.d/x.conf", "")], [before], how=how)
    refused(site, how)


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize(
    ("target", "value"),
    [
        (f"{ETC}/{UNIT}", "/tmp/evil.service"),
        (f"{ETC}/{UNIT}", "/etc/shadow"),
        (f"{ETC}/other.service", "/dev/null"),
        ("/etc/cron.d/x", "/dev/null"),
        ("/etc/passwd", "/dev/null"),
        (f"{ETC}/../../passwd", "/dev/null"),
        (f"{ETC}/not a unit", "/dev/null"),
    ],
)
def test_no_link_is_made_but_the_mask(site: Site, how: str, target: str, value: str) -> None:
    forge(site, [step("make-link", target, value)], [{"folders made": ""}], how=how)
    refused(site, how)


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize(
    "link",
    [
        f"{ETC}/{UNIT} -> /tmp/evil.service",
        f"{ETC}/{UNIT} -> ../../../tmp/evil.service",
        f"{ETC}/sysinit.target.wants/debug-shell.service -> /usr/lib/systemd/system/debug-shell.service",
        f"{ETC}/sysinit.target.wants/debug-shell.service -> /usr/lib/systemd/system/{UNIT}",
        f"{ETC}/{UNIT} -> /tmp/link.service",
        f"{ETC}/{UNIT} -> /var/folder/agent.service",
        f"{ETC}/{UNIT} -> /opt/gone.service",
        f"{ETC}/{UNIT} -> /etc/shadow",
        "/etc/cron.d/agent.service -> /usr/lib/systemd/system/agent.service",
        f"/root/.ssh/{UNIT} -> /usr/lib/systemd/system/{UNIT}",
        f"{ETC}/x/y.wants/{UNIT} -> /usr/lib/systemd/system/{UNIT}",
        f"{ETC}/{UNIT}/../../../passwd -> /usr/lib/systemd/system/{UNIT}",
    ],
)
def test_no_link_is_removed_or_put_back_but_those_of_the_unit(site: Site, how: str, link: str) -> None:
    (site.host.root / "tmp").mkdir()
    (site.host.root / "tmp").chmod(0o1777)
    (site.host.root / "tmp/evil.service").write_text(EVIL)
    (site.host.root / "tmp/evil.service").chmod(0o666)
    (site.host.root / f"opt/{UNIT}").parent.mkdir()
    (site.host.root / f"opt/{UNIT}").write_text("[Service]\nExecStart=/bin/agent\n")
    (site.host.root / "tmp/link.service").symlink_to(f"/opt/{UNIT}")
    (site.host.root / "var").mkdir()
    (site.host.root / "var/folder").symlink_to("/opt")
    path, _, text = link.partition(" -> ")
    forge(site, [step("remove-links", UNIT, link)], [{path: text, f"owner of {path}": OURS}], how=how)
    refused(site, how)


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("path", [WANTED, f"{ETC}/{UNIT}", "/etc/shadow"])
def test_no_link_comes_back_that_was_not_removed(site: Site, how: str, path: str) -> None:
    removed = step("remove-links", UNIT, f"{WANTED} -> /usr/lib/systemd/system/{UNIT}")
    forge(site, [removed], [{path: "/tmp/evil.service"}], how=how)
    refused(site, how)


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize(
    ("wrong", "before"),
    [
        (step("drop-caches", "/etc/shadow", "1"), {}),
        (step("drop-caches", "/proc/sys/vm/drop_caches", "root::0:0:::"), {}),
        (step("force-empty", "/tmp/planted", "0"), {}),
        (step("force-empty", "/sys/fs/cgroup/memory/../../../../tmp/planted", "0"), {}),
        (step("reclaim", "/tmp/planted", "in portions"), {}),
        (step("set-affinity", "../../../etc 1", "1"), {"allowed": "0"}),
        (step("set-affinity", "1 eth0", "0-8191,0-8191,0-8191"), {"allowed": "0"}),
        (step("set-affinity", "1 eth0", "1"), {"allowed": "x"}),
        (step("stop-unit", UNIT, f"../evil {UNIT}"), {UNIT: "on"}),
        (step("stop-unit", UNIT, UNIT), {UNIT: "never seen"}),
        (step("stop-unit", UNIT, UNIT), {"--force": "on"}),
        (step("restart-unit", "sshd.service", "when undone"), {"state": "active"}),
        (step("restart-unit", UNIT, "now"), {"state": "active"}),
        (step("run-command", "/tmp/evil", ""), {}),
        (step("", "", ""), {}),
    ],
)
def test_no_other_change_is_made(site: Site, how: str, wrong: Step, before: State) -> None:
    (site.host.root / "tmp/planted").mkdir(parents=True)
    for name in ("memory.force_empty", "memory.reclaim"):
        (site.host.root / "tmp/planted" / name).symlink_to("/etc/shadow")
    every = [Treatment("disable-unit", UNIT), Treatment("purge-zombies", "/planted /")]
    treatments = [*every, Treatment("move-interrupts", "0")]
    forge(site, [wrong], [before], how=how, treatments=treatments)
    refused(site, how)


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize(
    "treatments", [(), (Treatment("disable-unit", "x.service"),), (Treatment("purge-zombies", "/"),)]
)
def test_a_step_that_no_treatment_has_is_refused(
    site: Site, how: str, treatments: Sequence[Treatment]
) -> None:
    forge(site, [step("write-file", OFF, CONDITION)], [NOTHING], how=how, treatments=treatments)
    refused(site, how)


def test_one_wrong_step_keeps_all_others_from_being_taken_back(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    good = step("make-link", f"{ETC}/{UNIT}", "/dev/null")
    (site.host.root / good.target.lstrip("/")).symlink_to(good.value)
    forge(site, [step("write-file", "/etc/passwd", ""), good], [NOTHING, {"folders made": ""}])
    assert main(words(site, "--undo", ID, "--force")) == 2
    assert "step 1 (write-file /etc/passwd): no remedy writes this file" in capsys.readouterr().err
    assert (site.host.root / good.target.lstrip("/")).is_symlink()


def test_every_kind_of_change_is_one_of_a_remedy_that_says_which() -> None:
    assert {id for remedy in ALL_REMEDIES.values() for id in remedy.steps} == set(ALL_ACTIONS)


@pytest.mark.parametrize("remedy", ["disable-unit", "limit-crash-loop"])
def test_a_true_record_is_taken_back(site: Site, remedy: str) -> None:
    """What is refused above is refused for what it says."""
    before = listing(site.host.root)
    plan = make_plan(site.host, [Treatment(remedy, UNIT)], (), ())
    fix = apply(plan, site)
    assert listing(site.host.root) != before
    assert undo(fix.id, site).state is FixState.UNDONE
    assert listing(site.host.root) == before


def test_what_an_undo_would_refuse_is_not_begun(site: Site) -> None:
    """A file of ours that somebody made writable for all: an undo would have to make it so again."""
    place = site.host.root / LIMIT.lstrip("/")
    place.write_text("[Unit]\nStartLimitBurst=50\n")
    place.chmod(0o666)
    before = listing(site.host.root)
    plan = make_plan(site.host, [Treatment("limit-crash-loop", UNIT)], (), ())
    with pytest.raises(RefusedError, match=r"step 1 .*mode 0666: others could write to it"):
        apply(plan, site)
    assert listing(site.host.root) == before and read_fixes(site.store).fixes == ()
