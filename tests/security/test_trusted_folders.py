"""Attack: whoever can change a folder on the way to what root writes leads root somewhere else.

By a link of their own, by a folder that they made a moment before root did, by a name in a recording that
leads out of its folder, and by a lock that they hold because they can read it.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from necroscope.agent.heartbeat import Heartbeat
from necroscope.errors import StoreError, UntrustedFolderError
from necroscope.exporter.textfile import Textfile
from necroscope.fleet.ship.spool import Spool
from necroscope.kubernetes.unsent_reports import KeptReports
from necroscope.sources.plain_files import read_plain
from necroscope.store import trusted_folder
from necroscope.store.durable import make_folders
from necroscope.store.lock import LOCK, held
from necroscope.store.seal import seal_recorded
from necroscope.store.store import DESCRIPTION, Store, read_segment
from necroscope.store.trusted_folder import make_trusted, open_trusted
from tests.stored import HOST, no_profile, open_segment, seconds_of
from tests.unprivileged import NOBODY

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, who is attacked")


def is_same(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    finally:
        os.close(descriptor)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    (tmp_path / "real/store").mkdir(parents=True)
    return tmp_path / "real/store"


@pytest.mark.parametrize("target", ["real", "{}/real", "./real/../real/.", "second"])
def test_links_of_ours_are_followed(tmp_path: Path, store: Path, target: str) -> None:
    (tmp_path / "second").symlink_to("real")
    (tmp_path / "link").symlink_to(target.format(tmp_path))
    assert is_same(open_trusted(tmp_path / "link/store"), store)


@pytest.mark.usefixtures("store")
def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links"):
        open_trusted(tmp_path / "a/store")


@as_root
def test_a_link_of_somebody_else_is_not_followed(tmp_path: Path, store: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("real")
    os.chown(link, NOBODY, NOBODY, follow_symlinks=False)
    with pytest.raises(UntrustedFolderError, match="could lead it elsewhere"):
        open_trusted(link / store.name)


@as_root
@pytest.mark.parametrize("change", ["owner", "mode", "group"])
def test_a_link_does_not_hide_a_folder_of_somebody_else(tmp_path: Path, store: Path, change: str) -> None:
    """Also when `..` leads back to a folder that is trusted."""
    theirs = tmp_path / "theirs"
    (theirs / "inner").mkdir(parents=True)
    if change == "owner":
        os.chown(theirs, NOBODY, NOBODY)
    else:
        theirs.chmod(0o757 if change == "mode" else 0o775)
    (tmp_path / "link").symlink_to("theirs/inner/../../real")
    with pytest.raises(UntrustedFolderError, match=f"{theirs}"):
        open_trusted(tmp_path / "link" / store.name)


@as_root
def test_a_folder_that_somebody_made_just_before_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In /tmp, between the look and the making."""

    def too_late(path: Path) -> None:
        path.mkdir()
        os.chown(path, NOBODY, NOBODY)
        make_folders(path)

    monkeypatch.setattr(trusted_folder, "make_folders", too_late)
    with pytest.raises(UntrustedFolderError, match="belongs to nobody"):
        make_trusted(tmp_path / "store")


@as_root
@pytest.mark.parametrize(
    "prepare",
    [
        lambda folder: KeptReports(folder).prepare(),
        lambda folder: Spool(folder).prepare(),
        lambda folder: Store(folder.parent).new_segment(folder.name).__enter__(),
    ],
    ids=["reports to Kubernetes", "what is to be shipped", "an import"],
)
def test_nothing_is_written_below_a_folder_of_somebody_else(
    tmp_path: Path, prepare: Callable[[Path], object]
) -> None:
    folder = tmp_path / "store" / HOST
    folder.mkdir(parents=True)
    os.chown(folder, NOBODY, NOBODY)
    with pytest.raises(UntrustedFolderError, match="belongs to nobody"):
        prepare(folder)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("made_before", [False, True])
def test_nobody_else_can_read_and_so_hold_the_lock(tmp_path: Path, made_before: bool) -> None:
    if made_before:  # by an older version
        (tmp_path / LOCK).write_text("")
        (tmp_path / LOCK).chmod(0o644)
    with held(tmp_path):
        assert stat.S_IMODE((tmp_path / LOCK).stat().st_mode) == 0o600


def test_whoever_may_read_a_segment_cannot_keep_it_from_being_sealed(tmp_path: Path) -> None:
    """By a lock on each file that the group may read."""
    segment = open_segment(tmp_path, seconds_of(["idle"] * 3), ended="full")
    with ExitStack() as stack:
        for path in segment.folder.iterdir():
            file = stack.enter_context(path.open("rb"))
            assert stat.S_IMODE(path.stat().st_mode) & 0o077, "others cannot read it"
            fcntl.flock(file, fcntl.LOCK_SH)
        assert seal_recorded(segment, no_profile) == "sealed"


@pytest.mark.parametrize("boot_id", ["../x", "/etc/shadow", "a/b", "x" * 65, "\n", 7])
def test_a_boot_that_would_lead_out_of_the_folder(tmp_path: Path, boot_id: object) -> None:
    """It becomes part of the name of a file with symbols, which root reads."""
    folder = open_segment(tmp_path, seconds_of(["idle"] * 3)).folder
    document = json.loads(read_plain(folder / DESCRIPTION, 1 << 20))
    document["host"]["boot_id"] = boot_id
    (folder / DESCRIPTION).write_text(json.dumps(document))
    with pytest.raises(StoreError):
        read_segment(folder)


@as_root
def test_the_owner_of_a_folder_of_metrics_cannot_lead_root_to_another_folder(tmp_path: Path) -> None:
    """They swap a folder above the file for a link, after the recorder has begun to write it."""
    tmp_path.chmod(0o755)
    theirs, target = tmp_path / "theirs", tmp_path / "target"
    (theirs / "folder").mkdir(parents=True)
    target.mkdir(mode=0o700)
    (target / "n.prom").write_text("of root")
    for path in (theirs, theirs / "folder"):
        os.chown(path, NOBODY, NOBODY)
    textfile = Textfile(theirs / "folder/n.prom", lambda: "metrics", every_seconds=0.01)
    beat = Heartbeat(theirs / "folder/n.beat")
    (theirs / "folder").rename(theirs / "away")
    (theirs / "folder").symlink_to(target)
    os.chown(theirs / "folder", NOBODY, NOBODY, follow_symlinks=False)
    beat.beat()
    deadline = time.monotonic() + 10
    while not textfile.error:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    textfile.close()
    assert [(path.name, path.read_text()) for path in target.iterdir()] == [("n.prom", "of root")]
    with pytest.raises(UntrustedFolderError, match="nobody"):
        Heartbeat(theirs / "folder/n.beat")
    with pytest.raises(UntrustedFolderError, match="nobody"):
        Textfile(theirs / "folder/n.prom", lambda: "metrics")
