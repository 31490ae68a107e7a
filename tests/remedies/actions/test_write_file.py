from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from necroscope.errors import ChangeError
from necroscope.model.plan import Step
from necroscope.remedies.actions.write_file import WRITE_FILE
from necroscope.sources.host import Host

NAME = "/etc/systemd/system/x.service.d/50-x.conf"


def step(target: str = NAME, value: str = "[Unit]\n") -> Step:
    return Step("write-file", target, value, "", "", "", "", "")


def test_a_new_file_comes_with_its_folders_and_goes_with_them(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    host = Host(tmp_path)
    before = WRITE_FILE.look(host, step())
    WRITE_FILE.do(host, step())
    place = tmp_path / NAME.lstrip("/")
    assert (place.read_text(), place.stat().st_mode & 0o777) == ("[Unit]\n", 0o644)
    assert place.parent.stat().st_mode & 0o777 == 0o755
    assert WRITE_FILE.check(host, step()) == ""
    assert WRITE_FILE.check_undone(host, step(), before)
    WRITE_FILE.undo(host, step(), before)
    assert list(tmp_path.rglob("*")) == [tmp_path / "etc"]
    assert WRITE_FILE.check_undone(host, step(), before) == ""


@pytest.mark.parametrize("content", [b"old\n", b"\xff\xfe", b""])
def test_an_old_file_comes_back_with_content_mode_and_owner(tmp_path: Path, content: bytes) -> None:
    host, place = Host(tmp_path), tmp_path / NAME.lstrip("/")
    place.parent.mkdir(parents=True)
    place.write_bytes(content)
    place.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(place, 1, 2)
    status = place.stat()
    before = WRITE_FILE.look(host, step())
    WRITE_FILE.do(host, step())
    assert place.stat().st_mode == status.st_mode
    WRITE_FILE.undo(host, step(), before)
    after = place.stat()
    assert place.read_bytes() == content
    assert (after.st_mode, after.st_uid, after.st_gid) == (status.st_mode, status.st_uid, status.st_gid)


def test_what_a_crash_left_half_written_is_finished_or_removed(tmp_path: Path) -> None:
    host, place = Host(tmp_path), tmp_path / NAME.lstrip("/")
    before = WRITE_FILE.look(host, step())
    place.parent.mkdir(parents=True)
    place.with_name(".50-x.conf.partial").write_text("[Un")
    WRITE_FILE.do(host, step())
    assert [path.name for path in place.parent.iterdir()] == ["50-x.conf"]
    place.with_name(".50-x.conf.partial").write_text("[Un")
    WRITE_FILE.undo(host, step(), before)
    assert list(tmp_path.iterdir()) == []


def test_folders_that_somebody_else_uses_by_now_stay(tmp_path: Path) -> None:
    host, place = Host(tmp_path), tmp_path / NAME.lstrip("/")
    before = WRITE_FILE.look(host, step())
    WRITE_FILE.do(host, step())
    place.with_name("other.conf").write_text("")
    WRITE_FILE.undo(host, step(), before)
    assert [path.name for path in place.parent.iterdir()] == ["other.conf"]


def test_a_link_is_never_written_through(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    place = root / NAME.lstrip("/")
    place.parent.mkdir(parents=True)
    place.symlink_to(outside)
    for call in (WRITE_FILE.look, WRITE_FILE.do):
        with pytest.raises(ChangeError, match="no plain file"):
            call(Host(root), step())
    assert not outside.exists()


def test_a_folder_that_leads_out_of_the_root_is_led_back_into_it(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    outside.mkdir()
    (root / "etc").mkdir(parents=True)
    (root / "etc/systemd").symlink_to(outside)
    (root / str(outside).lstrip("/")).mkdir(parents=True)
    host = Host(root)
    before = WRITE_FILE.look(host, step())
    WRITE_FILE.do(host, step())
    assert list(outside.iterdir()) == []
    assert (root / str(outside).lstrip("/") / "system/x.service.d/50-x.conf").read_text() == "[Unit]\n"
    WRITE_FILE.undo(host, step(), before)
    assert list((root / str(outside).lstrip("/")).iterdir()) == []


@pytest.mark.parametrize("target", ["etc/x", "/etc/../x", "/etc/..", "/"])
def test_only_whole_names_are_taken(tmp_path: Path, target: str) -> None:
    with pytest.raises(OSError, match="whole name"):
        WRITE_FILE.do(Host(tmp_path), step(target))


def test_a_disk_that_is_full_is_left_as_it_was(tmp_path: Path) -> None:
    host, place = Host(tmp_path), tmp_path / NAME.lstrip("/")
    place.parent.mkdir(parents=True)
    place.write_text("old\n")
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4, usual[1]))  # writes fail as on a full disk
    try:
        with pytest.raises(OSError, match="File too large"):
            WRITE_FILE.do(host, step(value="[Unit]\nStartLimitBurst=5\n"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert [path.name for path in place.parent.iterdir()] == ["50-x.conf"]
    assert place.read_text() == "old\n"
