from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from necroscope.errors import ChangeError, FixHeldError, HostChangedError, RefusedError
from necroscope.model.fix import FixState, State, StepState
from necroscope.remedies.actions.catalog import ALL_ACTIONS
from necroscope.remedies.apply import executor as carrying_out
from necroscope.remedies.apply.apply import apply, continue_fix
from necroscope.remedies.apply.fixes import find_fix, read_fixes
from necroscope.remedies.apply.site import Site
from necroscope.remedies.apply.undo import undo
from necroscope.sources.host import Host
from tests.remedies.trees import LIMIT, listing, plan_for


@pytest.fixture(autouse=True)
def _hasty(image: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The image comes first, so that patches of its actions are gone before they are."""
    assert image
    monkeypatch.setattr(carrying_out, "SETTLE_SECONDS", 0.0)


def test_all_is_as_it_was(site: Site) -> None:
    before = listing(site.host.root)
    fix = undo(apply(plan_for(site.host.root), site).id, site)
    assert listing(site.host.root) == before
    assert fix.state is FixState.UNDONE and fix == find_fix(site.store, fix.id)
    assert {progress.state for progress in fix.progress} == {StepState.UNDONE}


def test_twice_is_refused(site: Site) -> None:
    fix = undo(apply(plan_for(site.host.root), site).id, site)
    with pytest.raises(RefusedError, match="taken back already"):
        undo(fix.id, site)


def test_what_somebody_changed_since_is_overwritten_only_by_force(site: Site) -> None:
    before = listing(site.host.root)
    fix = apply(plan_for(site.host.root), site)
    (site.host.root / "etc/new.conf").write_text("better numbers\n")
    after = listing(site.host.root)
    with pytest.raises(HostChangedError, match=r"/etc/new.conf: /etc/new.conf has another text") as caught:
        undo(fix.id, site)
    assert "--force" in caught.value.hint and listing(site.host.root) == after
    assert find_fix(site.store, fix.id).state is FixState.APPLIED
    undo(fix.id, site, force=True)
    assert listing(site.host.root) == before


def test_force_overwrites_what_the_real_actions_would_leave_alone(site: Site) -> None:
    before = listing(site.host.root)
    fix = apply(plan_for(site.host.root, "real"), site)
    (site.host.root / LIMIT.lstrip("/")).write_text("better numbers\n")
    with pytest.raises(HostChangedError, match=LIMIT):
        undo(fix.id, site)
    undo(fix.id, site, force=True)
    assert listing(site.host.root) == before


def test_what_somebody_took_back_by_hand_is_no_obstacle(site: Site) -> None:
    before = listing(site.host.root)
    fix = apply(plan_for(site.host.root), site)
    (site.host.root / "etc/new.conf").unlink()
    undo(fix.id, site)
    assert listing(site.host.root) == before


def test_two_fixes_of_one_thing_are_taken_back_the_later_first(site: Site) -> None:
    before = listing(site.host.root)
    first = apply(plan_for(site.host.root), site)
    second = apply(plan_for(site.host.root), site)
    with pytest.raises(RefusedError, match=f"{second.id} has changed /etc/a.service after") as caught:
        undo(first.id, site, force=True)
    assert f"fix --undo {second.id}" in caught.value.hint and "--store" in caught.value.hint
    undo(second.id, site)
    undo(first.id, site)
    assert listing(site.host.root) == before


def test_a_step_that_cannot_be_taken_back_is_tried_again(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    before = listing(site.host.root)
    fix = apply(plan_for(site.host.root), site)

    def fail(_host: Host, step: Any, _before: State) -> None:
        raise OSError(30, "Read-only file system", step.target)

    real = ALL_ACTIONS["drop-link"]
    monkeypatch.setitem(ALL_ACTIONS, "drop-link", replace(real, undo=fail))
    with pytest.raises(ChangeError, match=r"step 2 .* could not be taken back: .* Read-only") as caught:
        undo(fix.id, site)
    assert f"--undo {fix.id}" in caught.value.hint and "--continue" not in caught.value.hint
    left = find_fix(site.store, fix.id)
    assert left.state is FixState.UNDOING
    assert [progress.state.value for progress in left.progress] == ["undone", "undoing", "undone", "undone"]
    with pytest.raises(FixHeldError):
        apply(plan_for(site.host.root), site)
    monkeypatch.setitem(ALL_ACTIONS, "drop-link", real)
    undo(fix.id, site)
    assert listing(site.host.root) == before


def test_all_that_cannot_be_taken_back_is_told_at_once_and_can_be_closed(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    fix = apply(plan_for(site.host.root), site)

    def fail(_host: Host, step: Any, _before: State) -> None:
        raise OSError(30, "Read-only file system", step.target)

    for id in ("drop-link", "put-link"):
        monkeypatch.setitem(ALL_ACTIONS, id, replace(ALL_ACTIONS[id], undo=fail))
    with pytest.raises(ChangeError, match=r"step 3 .* could not .*; step 2 .* could not") as caught:
        undo(fix.id, site)
    assert "--force" in caught.value.hint
    closed = undo(fix.id, site, force=True)
    assert closed.state is FixState.UNDONE_IN_PART and closed == find_fix(site.store, fix.id)
    assert closed.not_as_before.count("Read-only file system") == 2
    with pytest.raises(RefusedError, match="undone in part"):
        continue_fix(fix.id, site)
    apply(plan_for(site.host.root, "real"), site)  # others are possible


def test_what_was_closed_in_part_can_be_tried_again(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    before = listing(site.host.root)
    fix = apply(plan_for(site.host.root), site)
    lazy = replace(ALL_ACTIONS["put-link"], undo=lambda _host, _step, _before: None)
    with monkeypatch.context() as patch:
        patch.setitem(ALL_ACTIONS, "put-link", lazy)
        assert undo(fix.id, site, force=True).state is FixState.UNDONE_IN_PART
    again = undo(fix.id, site)
    assert (again.state, again.not_as_before) == (FixState.UNDONE, "")
    assert listing(site.host.root) == before


def test_an_undo_without_its_effect_has_failed(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    fix = apply(plan_for(site.host.root), site)
    lazy = replace(ALL_ACTIONS["put-link"], undo=lambda _host, _step, _before: None)
    monkeypatch.setitem(ALL_ACTIONS, "put-link", lazy)
    with pytest.raises(ChangeError, match=r"step 3 .*: /etc/a.service is not as it was"):
        undo(fix.id, site)


def test_ctrl_c_leaves_an_undo_that_can_go_on(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    before = listing(site.host.root)
    fix = apply(plan_for(site.host.root), site)

    def interrupt(_host: Host, _step: Any, _before: State) -> None:
        raise KeyboardInterrupt

    real = ALL_ACTIONS["put-link"]
    monkeypatch.setitem(ALL_ACTIONS, "put-link", replace(real, undo=interrupt))
    assert undo(fix.id, site).state is FixState.UNDOING
    monkeypatch.setitem(ALL_ACTIONS, "put-link", real)
    assert undo(fix.id, site).state is FixState.UNDONE
    assert listing(site.host.root) == before


def test_a_fix_left_in_the_middle_holds_up_the_undo_of_another(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = apply(plan_for(site.host.root), site)

    def end(_host: Host, _step: Any) -> str:
        raise SystemExit

    monkeypatch.setitem(ALL_ACTIONS, "put-link", replace(ALL_ACTIONS["put-link"], do=end))
    with pytest.raises(SystemExit):
        apply(plan_for(site.host.root), site)
    assert [fix.state.value for fix in read_fixes(site.store).fixes] == ["applied", "unfinished"]
    with pytest.raises(FixHeldError, match="ended in the middle"):
        undo(first.id, site)
