"""kill -9 at every change on disk of a fix and of its undo: nothing is unaccounted for.

The process that is killed runs the verb; what comes after is asked of the library, which is quicker.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from necroscope.cli.main import main
from necroscope.errors import FixHeldError, RefusedError
from necroscope.model.fix import Fix, FixState
from necroscope.remedies.apply.apply import apply, continue_fix
from necroscope.remedies.apply.fixes import read_fixes
from necroscope.remedies.apply.fixes_folder import fixes_folder
from necroscope.remedies.apply.site import Site
from necroscope.remedies.apply.undo import undo
from necroscope.remedies.plan.plan_document import plan_text
from necroscope.sources.host import Host
from tests.remedies.killed import run_killed
from tests.remedies.trees import listing, make_tree, plan_for, tree_remedy

MOST_POINTS = 500
WAYS: dict[str, Callable[[str, Site], Fix]] = {"--continue": continue_fix, "--undo": undo}
Listing = dict[str, tuple[object, ...]]


class Scene:
    """An image, a plan for it, and a store; all of it new."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.root = make_tree(folder / "image")
        self.site = Site(Host(self.root), folder / "store")
        self.plan = plan_for(self.root, "real")
        self.plan_file = folder / "plan.json"
        self.plan_file.write_text(plan_text(self.plan))
        self.before = listing(self.root)

    def fix(self, *words: str) -> int:
        """The verb."""
        return main(["fix", *words, "--root", str(self.root), "--store", str(self.site.store)])

    def apply(self) -> int:
        """The verb that is killed."""
        return self.fix("--plan", str(self.plan_file), "--apply")

    def only_fix(self) -> Fix | None:
        """The fix of the store, if it has come to that."""
        known = read_fixes(self.site.store)
        assert known.damaged == () and len(known.fixes) <= 1
        return known.fixes[0] if known.fixes else None


@pytest.fixture
def scenes() -> Iterator[Iterator[Scene]]:
    """In memory where that is possible: to a kill it is all the same, and there are a thousand of them."""
    memory = Path("/dev/shm")
    folder = tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None)
    with tree_remedy(), folder as name:
        yield (Scene(Path(name) / str(number)) for number in range(10**6))


@pytest.fixture
def after(scenes: Iterator[Scene]) -> Listing:
    """What the image is like after the fix."""
    scene = next(scenes)
    assert scene.apply() == 0
    assert listing(scene.root) != scene.before
    return listing(scene.root)


@pytest.mark.parametrize("torn", [False, True], ids=["between", "torn"])
@pytest.mark.parametrize("way", WAYS)
def test_an_apply_killed_anywhere_goes_on_or_is_taken_back(
    scenes: Iterator[Scene], after: Listing, way: str, torn: bool
) -> None:
    states = []
    for point in range(1, MOST_POINTS):
        scene = next(scenes)
        if not run_killed(point, scene.apply, torn=torn):
            break
        fix = scene.only_fix()
        if fix is None:
            assert listing(scene.root) == scene.before, "what is not on record has changed nothing"
            assert apply(scene.plan, scene.site).state is FixState.APPLIED, "and holds up nobody"
        elif fix.state is FixState.APPLIED:
            assert listing(scene.root) == after
        else:
            states.append([progress.state.value for progress in fix.progress])
            with pytest.raises(FixHeldError) as caught:
                apply(scene.plan, scene.site)
            assert f"{way} {fix.id}" in caught.value.hint
            WAYS[way](fix.id, scene.site)
            assert listing(scene.root) == (after if way == "--continue" else scene.before)
        assert not list(fixes_folder(scene.site.store).glob(".making*")) or fix is None
    else:
        pytest.fail("it never ended")
    for number in range(len(scene.plan.steps)):
        assert {state[number] for state in states} == {"waiting", "begun", "done"}, "it was killed everywhere"


@pytest.mark.parametrize("torn", [False, True], ids=["between", "torn"])
def test_an_undo_killed_anywhere_goes_on(scenes: Iterator[Scene], torn: bool) -> None:
    seen = set()
    for point in range(1, MOST_POINTS):
        scene = next(scenes)
        id = apply(scene.plan, scene.site).id
        if not run_killed(point, lambda: scene.fix("--undo", id), torn=torn):  # noqa: B023 - done at once
            break
        fix = scene.only_fix()
        assert fix
        seen.add(fix.state)
        if fix.state is not FixState.UNDONE:
            if fix.state is FixState.UNDOING:
                with pytest.raises(RefusedError):
                    continue_fix(id, scene.site)  # half taken back is not half done
            undo(id, scene.site)
        assert listing(scene.root) == scene.before
    else:
        pytest.fail("it never ended")
    assert seen == {FixState.APPLIED, FixState.UNDOING, FixState.UNDONE}


def test_killed_again_and_again_it_still_ends(scenes: Iterator[Scene], after: Listing) -> None:
    """Every process gets one change further than the one before it, and is killed."""
    scene = next(scenes)
    point = 1
    while scene.only_fix() is None:
        run_killed(point, scene.apply)
        point += 1
    fix = scene.only_fix()
    assert fix
    for point in range(2, MOST_POINTS):
        if not run_killed(point // 2, lambda: scene.fix("--continue", fix.id), torn=bool(point % 2)):
            break
        left = scene.only_fix()
        if left and left.state is FixState.APPLIED:
            break
    assert listing(scene.root) == after
    undo(fix.id, scene.site)
    assert listing(scene.root) == scene.before


def test_the_list_accounts_for_what_was_left(
    scenes: Iterator[Scene], capsys: pytest.CaptureFixture[str]
) -> None:
    scene = next(scenes)
    point = 30
    while not ((fix := scene.only_fix()) and "begun" in [one.state.value for one in fix.progress]):
        scene = next(scenes)
        assert run_killed(point, scene.apply)
        point += 1
    capsys.readouterr()
    assert scene.fix("--list", "--json") == 0
    body: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert body["unfinished"] == [{"id": fix.id, "state": "unfinished"}] and body["damaged"] == []
    assert [step["state"] for step in body["fixes"][0]["steps"]] == [one.state.value for one in fix.progress]
    assert all(step["before"] for step in body["fixes"][0]["steps"])
