from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from necroscope.sources.host import Host
from necroscope.sources.tmpfs_files import TmpfsMount, files_of, parse_tmpfs_mounts, tmpfs_mounts

MOUNTS = """\
22 26 0:21 / /sys rw - sysfs sysfs rw
30 26 0:25 /part /srv/part rw - tmpfs tmpfs rw
31 26 0:25 / /dev/shm\\040x rw,nosuid - tmpfs tmpfs rw
32 26 0:6 / /dev rw - devtmpfs udev rw
33 26 254:0 / / rw - ext4 /dev/vda rw
"""

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def test_every_tmpfs_is_told_once_and_rather_where_all_of_it_is() -> None:
    assert parse_tmpfs_mounts(MOUNTS.splitlines()) == {
        os.makedev(0, 25): "/dev/shm x",
        os.makedev(0, 6): "/dev",
    }


def names(folder: Path) -> list[str]:
    mount = TmpfsMount(folder.stat().st_dev, folder, "/named")
    return sorted(file[0] for file in files_of(mount) if file)


@needs_root
def test_files_with_content_are_found_in_folders_and_no_link_is_followed() -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        folder = Path(name)
        (folder / "a/b").mkdir(parents=True)
        (folder / "a/b/deep").write_text("x")
        (folder / "flat").write_text("x")
        (folder / "empty").touch()
        (folder / "to-etc").symlink_to("/etc")
        (folder / "to-file").symlink_to("flat")
        os.mkfifo(folder / "pipe")
        assert names(folder) == ["/named/a/b/deep", "/named/flat"]


@needs_root
def test_another_file_system_in_the_place_is_left_alone() -> None:
    mount = TmpfsMount(os.makedev(0, 9999), Path("/etc"), "/etc")
    assert not any(files_of(mount))


@needs_root
def test_a_tmpfs_that_only_another_mount_namespace_has_is_reached() -> None:
    script = "mount -n -t tmpfs lab /mnt && echo x >/mnt/inside && echo ready && read line"
    command = ["unshare", "--mount", "sh", "-c", script]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        if not process.stdout or process.stdout.readline() != "ready\n":
            pytest.skip("no tmpfs can be mounted here")
        found = [
            file[0]
            for mount in tmpfs_mounts(Host(), time.monotonic() + 60)
            for file in files_of(mount)
            if file
        ]
        process.communicate("\n")
    assert any(name.endswith("/root/mnt/inside") and name.startswith("/proc/") for name in found)


@needs_root
def test_whoever_looks_can_stop_also_where_there_are_only_folders() -> None:
    """Any user can nest folders in /dev/shm, or fill it with empty files, so that a look never ends."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        folder = Path(name)
        deep = "/".join("a" for _ in range(300))
        (folder / deep).mkdir(parents=True)
        for number in range(300):
            (folder / f"empty-{number}").touch()
            (folder / f"folder-{number}").mkdir()
        mount = TmpfsMount(folder.stat().st_dev, folder, "/named")
        assert list(files_of(mount)) == [None] * 900
