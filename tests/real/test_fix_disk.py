"""A store on a real disk that is full or read-only: no undo record, no fix."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.faults.small_disks import SmallDisk, small_disk, why_not
from necroscope.errors import ChangeError, StoreError
from necroscope.remedies.apply.apply import apply, continue_fix
from necroscope.remedies.apply.fixes import read_fixes
from necroscope.remedies.apply.fixes_folder import fixes_folder
from necroscope.remedies.apply.site import Site
from necroscope.remedies.apply.undo import undo
from necroscope.sources.host import Host
from tests.remedies.trees import listing, make_tree, plan_for, tree_remedy

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk", mebibytes=8) as one:
        yield one


@pytest.fixture
def site(disk: SmallDisk, tmp_path: Path) -> Iterator[Site]:
    with tree_remedy():
        yield Site(Host(make_tree(tmp_path / "image")), disk.folder / "store")


@pytest.mark.parametrize("is_used", [False, True], ids=["first fix", "later fix"])
@pytest.mark.parametrize("trouble", ["full", "read-only"])
def test_without_room_for_the_record_nothing_is_changed(
    site: Site, disk: SmallDisk, trouble: str, is_used: bool
) -> None:
    plan = plan_for(site.host.root)
    if is_used:
        undo(apply(plan, site).id, site)
    before = listing(site.host.root)
    disk.fill() if trouble == "full" else disk.fail()
    with pytest.raises(StoreError, match=r"No space left|Read-only") as caught:
        apply(plan, site)
    assert "nothing was changed" in caught.value.hint
    assert listing(site.host.root) == before
    assert len(read_fixes(site.store).fixes) == int(is_used)
    if trouble == "full":
        disk.clear()
        apply(plan, site)
        assert not list(fixes_folder(site.store).glob(".making*"))


def test_a_disk_that_fills_up_in_the_middle_stops_it_and_it_can_go_on(site: Site, disk: SmallDisk) -> None:
    before = listing(site.host.root)

    def fill_at_the_second(text: str) -> None:
        if text.startswith("step 2"):
            disk.fill()

    with pytest.raises(ChangeError, match=r"cannot be recorded: .*No space left") as caught:
        apply(plan_for(site.host.root), Site(site.host, site.store, fill_at_the_second))
    (fix,) = read_fixes(site.store).fixes
    assert fix.id in caught.value.hint
    states = [progress.state.value for progress in fix.progress]
    assert states[0] == "done" and states[3] == "waiting", "a line of the log needs a block sooner or later"
    disk.clear()
    continue_fix(fix.id, site)
    undo(fix.id, site)
    assert listing(site.host.root) == before
