from __future__ import annotations

import fcntl
import json
import os
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from necroscope.errors import (
    ChangeError,
    FixHeldError,
    HostChangedError,
    NecroscopeError,
    RefusedError,
    StoreError,
    UsageError,
)
from necroscope.model.fix import Fix, FixState, StepState
from necroscope.model.plan import Plan
from necroscope.remedies.actions.action import Action
from necroscope.remedies.actions.catalog import ALL_ACTIONS
from necroscope.remedies.apply import executor as carrying_out
from necroscope.remedies.apply import lock
from necroscope.remedies.apply.apply import apply, continue_fix
from necroscope.remedies.apply.fixes import find_fix, read_fixes
from necroscope.remedies.apply.fixes_folder import fixes_folder
from necroscope.remedies.apply.lock import held, holder_of
from necroscope.remedies.apply.site import Site
from necroscope.remedies.apply.undo import undo
from necroscope.remedies.plan.make_plan import make_plan
from necroscope.sources.host import Host
from tests.remedies.trees import NEW_TEXT, listing, plan_for

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="the folder of locks is root's")


@pytest.fixture(autouse=True)
def _hasty(image: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The image comes first, so that patches of its actions are gone before they are."""
    assert image
    monkeypatch.setattr(carrying_out, "SETTLE_SECONDS", 0.0)


def log_of(site: Site) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (fixes_folder(site.store) / "log.jsonl").read_text().splitlines()]


def replace_action(monkeypatch: pytest.MonkeyPatch, id: str, **parts: Any) -> Action:
    """An action that does one thing otherwise."""
    real = ALL_ACTIONS[id]
    monkeypatch.setitem(ALL_ACTIONS, id, replace(real, **parts))
    return real


def test_a_plan_is_carried_out_and_on_record(site: Site) -> None:
    before = listing(site.host.root)
    plan = plan_for(site.host.root)
    fix = apply(plan, site)
    assert fix == find_fix(site.store, fix.id)
    assert fix.state is FixState.APPLIED and fix.begun_ns <= fix.ended_ns
    assert {progress.state for progress in fix.progress} == {StepState.DONE}
    assert fix.progress[0].outcome == "/etc/limit.conf was written"
    assert fix.begun_ns <= fix.progress[0].at_ns <= fix.ended_ns
    assert fix.progress[0].before == {"exists": "yes", "text": "old\n", "mode": "0o640"}
    changed = {name for name, what in listing(site.host.root).items() if before.get(name) != what}
    assert changed == {"etc/limit.conf", "etc/a.service", "etc/new.conf"}, "and nothing else"
    assert fix.id.endswith("Z-tend-tree") and fix.plan == plan


def test_only_its_owner_may_read_the_record(site: Site) -> None:
    folder = fixes_folder(site.store) / apply(plan_for(site.host.root), site).id
    for path in (folder.parent, folder):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder.parent / "log.jsonl").stat().st_mode) == 0o600


def test_the_state_before_is_on_disk_before_the_first_step(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look_at_the_record(host: Host, step: Any) -> str:
        (fix,) = read_fixes(site.store).fixes
        assert [progress.before for progress in fix.progress][1] == {"link": "../a.service"}
        assert fix.progress[fix.plan.steps.index(step)].state is StepState.BEGUN
        return real.do(host, step)

    real = replace_action(monkeypatch, "put-text", do=look_at_the_record)
    apply(plan_for(site.host.root), site)


def test_the_log_says_who_did_what_and_what_was_before(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO_USER", "alice")
    site = Site(site.host, site.store)
    fix = apply(plan_for(site.host.root), site)
    undo(fix.id, site)
    lines = log_of(site)
    assert [line["what"] for line in lines] == [
        "begun",
        *["step-begun", "step-done"] * 4,
        "applied",
        "undo-begun",
        *["step-undoing", "step-undone"] * 4,
        "undone",
    ]
    assert {line["who"]["sudo_user"] for line in lines} == {"alice"}
    assert {line["who"]["pid"] for line in lines} == {os.getpid()}
    done = lines[2]
    assert (done["step"], done["fix"], done["target"]) == (1, fix.id, "/etc/limit.conf")
    assert (done["before"]["text"], done["after"]) == ("old\n", NEW_TEXT)
    assert done["outcome"] == "/etc/limit.conf was written" and done["command"] and done["at"].endswith("Z")
    assert "(sudo: alice)" in fix.who


def test_a_refusal_is_in_the_log_where_there_is_one(site: Site) -> None:
    plan = plan_for(site.host.root, "vital")
    with pytest.raises(RefusedError):
        apply(plan, site)
    (line,) = log_of(site)
    assert line["what"] == "refused" and "sshd" in line["outcome"]
    assert (line["treatments"], line["command"]) == (["tend-tree vital"], "--apply")


def test_what_is_vital_needs_a_word_and_the_file_is_not_asked(site: Site) -> None:
    plan = replace(plan_for(site.host.root, "vital"), vital=())  # somebody took it out of the file
    with pytest.raises(RefusedError, match=r"sshd\.service: the way in") as caught:
        apply(plan, site)
    assert "--even-vital" in caught.value.hint
    assert read_fixes(site.store).fixes == ()
    assert apply(plan, site, even_vital=True).state is FixState.APPLIED


def test_nothing_to_do_is_refused(site: Site) -> None:
    with pytest.raises(RefusedError, match="nothing to do"):
        apply(plan_for(site.host.root, "nothing"), site)


@pytest.mark.parametrize(
    ("is_new", "expected"), [(True, ["measured", "made"]), (False, ["made", "measured", "made"])]
)
def test_a_plan_is_made_again_after_the_measurement_and_an_old_one_before_it_too(
    site: Site, monkeypatch: pytest.MonkeyPatch, is_new: bool, expected: list[str]
) -> None:
    plan = plan_for(site.host.root)
    happened: list[str] = []

    def make(*arguments: Any) -> Plan:
        happened.append("made")
        return make_plan(*arguments)

    monkeypatch.setattr("necroscope.remedies.plan.make_plan.make_plan", make)
    fix = apply(plan, site, is_new=is_new, prepare=lambda: happened.append("measured"))
    assert fix.state is FixState.APPLIED and happened == expected


def test_an_old_plan_is_refused_before_the_measurement(site: Site) -> None:
    plan = plan_for(site.host.root)
    (site.host.root / "etc/other").write_text("somebody else's\n")
    with pytest.raises(HostChangedError):
        apply(plan, site, prepare=lambda: pytest.fail("measured"))


def test_a_plan_that_grew_old_while_it_was_measured_is_refused(site: Site) -> None:
    before = listing(site.host.root)
    plan = plan_for(site.host.root)

    def somebody_else() -> None:
        (site.host.root / "etc/other").write_text("was here\n")

    with pytest.raises(HostChangedError):
        apply(plan, site, prepare=somebody_else)
    assert listing(site.host.root).keys() == before.keys() and read_fixes(site.store).fixes == ()


def test_ctrl_c_while_it_was_measured_changes_nothing(site: Site) -> None:
    before = listing(site.host.root)

    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        apply(plan_for(site.host.root), site, prepare=interrupt)
    assert listing(site.host.root) == before and read_fixes(site.store).fixes == ()


def test_it_stops_at_the_first_failure_and_goes_on_when_asked(site: Site) -> None:
    root = site.host.root
    with pytest.raises(
        ChangeError, match=r"step 3 \(/etc/broken\) failed: /etc/broken: Permission"
    ) as caught:
        apply(plan_for(root, "break"), site)
    (fix,) = read_fixes(site.store).fixes
    assert f"--undo {fix.id}" in caught.value.hint and f"--continue {fix.id}" in caught.value.hint
    states = ["done", "done", "failed", "waiting", "waiting"]
    assert [progress.state.value for progress in fix.progress] == states
    assert fix.state is FixState.FAILED and not (root / "etc/new.conf").exists()
    assert fix.progress[-1].at_ns == 0
    with pytest.raises(ChangeError, match="step 3"):
        continue_fix(fix.id, site)
    (root / "etc/whole").touch()
    fix = continue_fix(fix.id, site)
    assert fix.state is FixState.APPLIED and fix == find_fix(site.store, fix.id)
    assert fix.progress[2].outcome == "it worked"
    assert (root / "etc/new.conf").read_text() == NEW_TEXT


def test_a_failed_fix_is_taken_back(site: Site) -> None:
    before = listing(site.host.root)
    with pytest.raises(ChangeError):
        apply(plan_for(site.host.root, "break"), site)
    (fix,) = read_fixes(site.store).fixes
    assert undo(fix.id, site).state is FixState.UNDONE
    assert listing(site.host.root) == before


def test_a_step_without_its_effect_has_failed(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_action(monkeypatch, "put-link", do=lambda _host, _step: "all is well")
    with pytest.raises(
        ChangeError, match=r"step 3 \(/etc/a.service\) failed: /etc/a.service is another link"
    ):
        apply(plan_for(site.host.root), site)


def test_a_step_that_does_not_last_is_found_in_the_end(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def and_somebody_else(host: Host, step: Any) -> str:
        (host.root / "etc/wants/a.service").symlink_to("../a.service")
        return real.do(host, step)

    real = replace_action(monkeypatch, "put-link", do=and_somebody_else)
    with pytest.raises(ChangeError, match=r"step 2 \(/etc/wants/a.service\) did not last"):
        apply(plan_for(site.host.root), site)
    monkeypatch.setitem(ALL_ACTIONS, "put-link", real)
    (fix,) = read_fixes(site.store).fixes
    assert continue_fix(fix.id, site).state is FixState.APPLIED
    assert not (site.host.root / "etc/wants/a.service").is_symlink()


def test_an_effect_that_takes_a_moment_is_waited_for(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def late(host: Host, step: Any) -> str:
        asked.append(step.target)
        return "not yet" if len(asked) < 3 else real.check(host, step)

    real = replace_action(monkeypatch, "put-link", check=late)
    monkeypatch.setattr(carrying_out, "SETTLE_SECONDS", 30.0)
    assert apply(plan_for(site.host.root), site).state is FixState.APPLIED


@pytest.mark.parametrize("error", [ValueError("a bug"), ChangeError("the unit would not stop")])
def test_whatever_an_action_raises_is_recorded(
    site: Site, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(_host: Host, _step: Any) -> str:
        raise error

    replace_action(monkeypatch, "put-link", do=fail)
    with pytest.raises(ChangeError, match=str(error)):
        apply(plan_for(site.host.root), site)
    (fix,) = read_fixes(site.store).fixes
    assert fix.state is FixState.FAILED and str(error) in fix.progress[2].outcome


@pytest.mark.parametrize("way", [continue_fix, undo])
@pytest.mark.parametrize("part", ["do", "check"], ids=["in the step", "in its check"])
def test_ctrl_c_in_a_step_leaves_it_in_the_middle(
    site: Site, monkeypatch: pytest.MonkeyPatch, part: str, way: Callable[..., Fix]
) -> None:
    before = listing(site.host.root)

    def interrupt(_host: Host, _step: Any) -> str:
        raise KeyboardInterrupt

    real = replace_action(monkeypatch, "put-link", **{part: interrupt})
    fix = apply(plan_for(site.host.root), site)
    assert (fix.state, fix.progress[2].state) == (FixState.UNFINISHED, StepState.BEGUN)
    assert fix == find_fix(site.store, fix.id) and log_of(site)[-1]["what"] == "interrupted"
    monkeypatch.setitem(ALL_ACTIONS, "put-link", real)
    with pytest.raises(FixHeldError, match="ended in the middle"):
        apply(plan_for(site.host.root), site)
    assert way(fix.id, site).state is (FixState.UNDONE if way is undo else FixState.APPLIED)
    assert (listing(site.host.root) == before) is (way is undo)


def test_ctrl_c_in_the_last_look_leaves_the_steps_done(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt_then(host: Host, step: Any) -> str:
        if (site.host.root / "etc/new.conf").exists():
            raise KeyboardInterrupt
        return real.check(host, step)

    real = replace_action(monkeypatch, "drop-link", check=interrupt_then)
    fix = apply(plan_for(site.host.root), site)
    assert fix.state is FixState.UNFINISHED and fix == find_fix(site.store, fix.id)
    assert {progress.state for progress in fix.progress} == {StepState.DONE}
    monkeypatch.setitem(ALL_ACTIONS, "drop-link", real)
    assert continue_fix(fix.id, site).state is FixState.APPLIED


@as_root
def test_the_second_at_once_is_refused_and_told_who_the_first_is(site: Site, tmp_path: Path) -> None:
    plan = plan_for(site.host.root)
    elsewhere = Site(site.host, tmp_path / "other store")
    with held(site.store, site.host):
        assert f"pid {os.getpid()}, since 20" in holder_of(site.store)
        with pytest.raises(FixHeldError, match=f"pid {os.getpid()}, since 20"):
            apply(plan, site)
        with pytest.raises(FixHeldError, match="with another --store"):
            apply(plan, elsewhere)
        with pytest.raises(FixHeldError):
            undo("20260101T000000Z-tend-tree", site)
    assert holder_of(site.store) == "" and read_fixes(site.store).fixes == ()
    assert apply(plan, site).state is FixState.APPLIED


@as_root
def test_a_fix_left_in_the_middle_is_known_to_other_stores(
    site: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupt(_host: Host, _step: Any) -> str:
        raise KeyboardInterrupt

    real = replace_action(monkeypatch, "put-link", do=interrupt)
    fix = apply(plan_for(site.host.root), site)
    monkeypatch.setitem(ALL_ACTIONS, "put-link", real)
    elsewhere = Site(site.host, tmp_path / "other store")
    with pytest.raises(FixHeldError, match=f"{fix.id} ended .* in the store {site.store}") as caught:
        apply(plan_for(site.host.root), elsewhere)
    assert f"--store {site.store}" in caught.value.hint
    fixes_folder(site.store).rename(tmp_path / "moved")
    with pytest.raises(FixHeldError, match="may have ended in the middle") as caught:
        apply(plan_for(site.host.root), elsewhere)
    assert "then remove" in caught.value.hint
    (tmp_path / "moved").rename(fixes_folder(site.store))
    undo(fix.id, site)
    assert apply(plan_for(site.host.root), elsewhere).state is FixState.APPLIED


@as_root
def test_who_may_read_a_machine_cannot_hold_up_its_fixes(site: Site) -> None:
    folder = lock.RUN / lock.FOLDER
    left = set(folder.glob("*.begun"))  # by other tests
    descriptor = os.open(site.host.root, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        assert apply(plan_for(site.host.root), site).state is FixState.APPLIED
    finally:
        os.close(descriptor)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert set(folder.glob("*.begun")) <= left
    folder.chmod(0o755)
    with pytest.raises(StoreError, match="others may enter"):
        undo(read_fixes(site.store).fixes[0].id, site)
    folder.chmod(0o700)


def test_a_step_that_waited_is_taken_back_to_what_was_there_when_it_began(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_host: Host, _step: Any) -> str:
        raise KeyboardInterrupt

    real = replace_action(monkeypatch, "put-link", do=interrupt)
    fix = apply(plan_for(site.host.root), site)
    monkeypatch.setitem(ALL_ACTIONS, "put-link", real)
    (site.host.root / "etc/new.conf").write_text("somebody's\n")
    assert continue_fix(fix.id, site).progress[3].before["text"] == "somebody's\n"
    undo(fix.id, site)
    assert (site.host.root / "etc/new.conf").read_text() == "somebody's\n"


def test_what_has_become_vital_is_not_gone_on_with(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ChangeError):
        apply(plan_for(site.host.root, "break"), site)
    (site.host.root / "etc/whole").touch()
    (fix,) = read_fixes(site.store).fixes
    vital = replace(fix.plan, vital=("kubelet.service: the node",))
    monkeypatch.setattr("necroscope.remedies.apply.apply.make_plan", lambda *_: vital)
    with pytest.raises(RefusedError, match=r"kubelet\.service"):
        continue_fix(fix.id, site)
    assert continue_fix(fix.id, site, even_vital=True).state is FixState.APPLIED


def test_an_image_that_cannot_be_written_is_refused_before_the_first_step(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What access(2) says of a read-only file system is told by hand: a mount is not for every test."""
    monkeypatch.setattr(os, "access", lambda path, *_, **__: "etc" not in str(path))
    with pytest.raises(RefusedError, match="read-only"):
        apply(plan_for(site.host.root, "real"), site)
    assert read_fixes(site.store).fixes == ()


def test_a_refused_undo_or_continue_is_in_the_log_by_its_id(site: Site, tmp_path: Path) -> None:
    id = apply(plan_for(site.host.root), site).id
    (site.host.root / "etc/new.conf").write_text("somebody else\n")
    for work, refusal in ((continue_fix, RefusedError), (undo, HostChangedError)):
        with pytest.raises(refusal):
            work(id, site)
    with pytest.raises(RefusedError, match="is a fix of"):
        undo(id, Site(Host(tmp_path), site.store))
    with held(site.store, site.host), pytest.raises(FixHeldError):
        undo(id, site)
    refused = [line for line in log_of(site) if line["what"] == "refused"]
    assert [(line["command"], line["fix"]) for line in refused] == [
        ("--continue", id),
        *[("--undo", id)] * 3,
    ]
    said = ("nothing of", "no longer as", "is a fix of", "carried out by pid")
    assert all(word in line["outcome"] for word, line in zip(said, refused, strict=True))


def test_a_fix_that_is_unknown_or_done_cannot_go_on(site: Site) -> None:
    fix = apply(plan_for(site.host.root), site)
    with pytest.raises(RefusedError, match=r"nothing of .* is left to do: it is applied"):
        continue_fix(fix.id, site)
    with pytest.raises(UsageError, match="there is no fix") as caught:
        continue_fix(f"{fix.id}x", site)
    assert fix.id in caught.value.hint


def test_a_fix_of_another_image_does_not_go_on_here(site: Site, tmp_path: Path) -> None:
    with pytest.raises(ChangeError):
        apply(plan_for(site.host.root, "break"), site)
    (fix,) = read_fixes(site.store).fixes
    other = tmp_path / "other image"
    other.mkdir()
    for work in (continue_fix, undo):
        with pytest.raises(RefusedError, match="is a fix of image-1") as caught:
            work(fix.id, Site(Host(other), site.store))
        assert f"--root {site.host.root}" in caught.value.hint


def test_two_fixes_of_one_second_have_two_names(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time_ns", lambda: 1_800_000_000 * 10**9)
    ids = []
    for _ in range(3):
        fix = apply(plan_for(site.host.root), site)
        ids.append(fix.id)
        undo(fix.id, site)
    assert ids == ["20270115T080000Z-tend-tree" + number for number in ("", "-2", "-3")]


def test_a_damaged_record_is_named_and_holds_up_new_fixes(site: Site) -> None:
    plan = plan_for(site.host.root)
    good = apply(plan, site)
    undo(good.id, site)
    bad = apply(plan, site)
    path = fixes_folder(site.store) / bad.id / "journal"
    path.write_bytes(path.read_bytes().replace(b"step-done", b"step-gone", 1))
    found = read_fixes(site.store)
    assert [fix.id for fix in found.fixes] == [good.id]
    assert str(path) in found.damaged[0].error.what
    works: list[Any] = [lambda: apply(plan, site), lambda: undo(bad.id, site), lambda: undo(good.id, site)]
    for work in works:
        with pytest.raises(StoreError, match="line 3 is damaged") as caught:
            work()
        assert "move the folder" in caught.value.hint


@pytest.mark.parametrize("name", ["plan.json", "journal"])
@pytest.mark.parametrize("damage", ["missing", "empty", "of another version"])
def test_a_record_without_one_of_its_parts_is_damaged(site: Site, name: str, damage: str) -> None:
    fix = apply(plan_for(site.host.root), site)
    path = fixes_folder(site.store) / fix.id / name
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(b"" if damage == "empty" else path.read_bytes().replace(b"1", b"2"))
    with pytest.raises(StoreError, match=name):
        undo(fix.id, site)


def test_only_root_may_change_a_running_machine(
    site: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    live = Site(Host(Path("/")), site.store)
    monkeypatch.setattr(os, "geteuid", lambda: 65534)
    works: list[Any] = [
        lambda: apply(plan_for(site.host.root), live),
        lambda: undo("x", live),
        lambda: continue_fix("x", live),
    ]
    for work in works:
        with pytest.raises(RefusedError, match="only root"):
            work()
    assert not site.store.exists() and not fixes_folder(site.store).exists(), "and nothing is written"


@pytest.mark.parametrize("kind", ["a file", "below a file"])
def test_without_a_record_there_is_no_fix(site: Site, tmp_path: Path, kind: str) -> None:
    before = listing(site.host.root)
    (tmp_path / "file").touch()
    store = tmp_path / ("file" if kind == "a file" else "file/store")
    with pytest.raises(NecroscopeError) as caught:
        apply(plan_for(site.host.root), Site(site.host, store))
    assert isinstance(caught.value, StoreError) and "--store" in caught.value.hint
    assert listing(site.host.root) == before


def test_what_cannot_be_put_on_record_is_not_changed(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_host: Host, step: Any) -> dict[str, str]:
        raise ChangeError(f"{step.target} is no plain file")

    before = listing(site.host.root)
    replace_action(monkeypatch, "put-link", look=refuse)
    with pytest.raises(RefusedError, match=r"state before .* /etc/a.service is no plain file"):
        apply(plan_for(site.host.root), site)
    assert listing(site.host.root) == before and read_fixes(site.store).fixes == ()
