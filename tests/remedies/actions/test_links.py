"""Links that are made and removed in an image; a running systemd is in tests/real."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from necroscope.errors import ChangeError
from necroscope.model.plan import Step
from necroscope.remedies.actions.make_link import MAKE_LINK
from necroscope.remedies.actions.remove_links import REMOVE_LINKS, links_text
from necroscope.sources.host import Host

ETC = "/etc/systemd/system"
LINKS = {
    f"{ETC}/a.target.wants/x.service": "../x.service",
    f"{ETC}/y.service": "/usr/lib/systemd/system/x.service",
}
MASK = Step("make-link", f"{ETC}/x.service", "/dev/null", "", "", "", "", "")
UNLINK = Step("remove-links", "x.service", links_text(LINKS), "", "", "", "", "")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for path, text in LINKS.items():
        place = tmp_path / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(text)
    return tmp_path


def texts(root: Path) -> dict[str, str]:
    return {
        f"/{path.relative_to(root)}": os.readlink(path)  # noqa: PTH115
        for path in root.rglob("*")
        if path.is_symlink()
    }


def test_links_are_removed_and_come_back_with_the_same_text(root: Path) -> None:
    host = Host(root)
    before = REMOVE_LINKS.look(host, UNLINK)
    assert {path: before[path] for path in LINKS} == LINKS
    REMOVE_LINKS.do(host, UNLINK)
    assert texts(root) == {}
    assert (root / "etc/systemd/system/a.target.wants").is_dir()
    assert REMOVE_LINKS.check(host, UNLINK) == ""
    assert "not as before" in REMOVE_LINKS.check_undone(host, UNLINK, before)
    REMOVE_LINKS.undo(host, UNLINK, before)
    assert texts(root) == LINKS
    assert REMOVE_LINKS.check_undone(host, UNLINK, before) == ""


def test_a_crash_in_the_middle_is_gone_on_with_and_taken_back(root: Path) -> None:
    host = Host(root)
    before = REMOVE_LINKS.look(host, UNLINK)
    first, second = (root / path.lstrip("/") for path in LINKS)
    first.unlink()
    assert str(LINKS.keys() - {f"/{first.relative_to(root)}"}).strip("{}'") in REMOVE_LINKS.check(
        host, UNLINK
    )
    REMOVE_LINKS.do(host, UNLINK)
    assert not second.is_symlink()
    second.symlink_to(LINKS[f"/{second.relative_to(root)}"])
    REMOVE_LINKS.undo(host, UNLINK, before)
    assert texts(root) == LINKS


def test_a_link_that_leads_elsewhere_by_now_is_not_removed(root: Path) -> None:
    place = root / "etc/systemd/system/y.service"
    place.unlink()
    place.symlink_to("/opt/mine.service")
    with pytest.raises(ChangeError, match=r"leads to /opt/mine\.service now"):
        REMOVE_LINKS.do(Host(root), UNLINK)
    assert place.is_symlink()


def test_a_mask_is_made_only_where_nothing_is(root: Path) -> None:
    host, place = Host(root), root / MASK.target.lstrip("/")
    before = MAKE_LINK.look(host, MASK)
    for _ in range(2):
        MAKE_LINK.do(host, MASK)
    assert texts(root)[MASK.target] == "/dev/null"
    MAKE_LINK.undo(host, MASK, before)
    assert texts(root) == LINKS
    place.write_text("[Unit]\n")
    with pytest.raises(ChangeError, match="no link"):
        MAKE_LINK.do(host, MASK)
    place.unlink()
    place.symlink_to("/opt/x.service")
    with pytest.raises(ChangeError, match="leads to"):
        MAKE_LINK.do(host, MASK)
    with pytest.raises(ChangeError, match="not ours"):
        MAKE_LINK.undo(host, MASK, before)


def test_folders_that_a_mask_needs_come_and_go_with_it(tmp_path: Path) -> None:
    host = Host(tmp_path)
    before = MAKE_LINK.look(host, MASK)
    MAKE_LINK.do(host, MASK)
    MAKE_LINK.undo(host, MASK, before)
    assert list(tmp_path.iterdir()) == []


def test_the_owner_of_a_link_comes_back_too(root: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may give a link away")
    host, place = Host(root), root / "etc/systemd/system/y.service"
    os.lchown(place, 1234, 1235)
    before = REMOVE_LINKS.look(host, UNLINK)
    REMOVE_LINKS.do(host, UNLINK)
    place.symlink_to(LINKS[f"{ETC}/y.service"])  # as after a kill right before its owner is set
    assert REMOVE_LINKS.check_undone(host, UNLINK, before) != ""
    REMOVE_LINKS.undo(host, UNLINK, before)
    assert (place.lstat().st_uid, place.lstat().st_gid) == (1234, 1235)
    assert REMOVE_LINKS.check_undone(host, UNLINK, before) == ""


def test_a_record_without_owners_is_taken_back_all_the_same(root: Path) -> None:
    host = Host(root)
    REMOVE_LINKS.do(host, UNLINK)
    REMOVE_LINKS.undo(host, UNLINK, LINKS)
    assert texts(root) == LINKS
    assert REMOVE_LINKS.check_undone(host, UNLINK, LINKS) == ""


def test_a_folder_that_is_a_link_to_nowhere_is_refused_before_anything_is_done(tmp_path: Path) -> None:
    (tmp_path / "etc/systemd").mkdir(parents=True)
    (tmp_path / "etc/systemd/system").symlink_to("/nowhere/at/all")
    with pytest.raises(ChangeError, match="/etc/systemd/system is no folder"):
        MAKE_LINK.look(Host(tmp_path), MASK)


def test_a_folder_that_somebody_has_made_a_link_since_is_not_ours_to_remove(tmp_path: Path) -> None:
    host = Host(tmp_path)
    before = MAKE_LINK.look(host, MASK)
    MAKE_LINK.do(host, MASK)
    folder = tmp_path / "etc/systemd/system"
    folder.rename(tmp_path / "moved")
    folder.symlink_to("/moved")
    MAKE_LINK.undo(host, MASK, before)
    assert folder.is_symlink()
    assert list((tmp_path / "moved").iterdir()) == []
