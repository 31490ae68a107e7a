"""A small disk of its own: an ext4 file system in a file, to be filled and to be turned read-only."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

LARGEST_STEP_BYTES = 4 << 20


def why_not() -> str | None:
    """Why no disk can be made here, or None."""
    if os.geteuid() != 0:
        return "needs root"
    missing = [name for name in ("mkfs.ext4", "mount", "losetup") if shutil.which(name) is None]
    if missing:
        return f"needs {', '.join(missing)}"
    return None if Path("/dev/loop-control").exists() else "needs loop devices"


@dataclass(frozen=True, slots=True)
class SmallDisk:
    """A mounted file system on a loop device."""

    folder: Path
    device: str  # loop3

    @property
    def filler(self) -> Path:
        """The file of somebody else that takes all room."""
        return self.folder / "filler"

    def fill(self) -> None:
        """Take all the room there is."""
        with self.filler.open("ab", buffering=0) as file:
            step = LARGEST_STEP_BYTES
            while step >= 512:
                try:
                    file.write(bytes(step))  # what still fits of it is written
                except OSError:
                    step //= 2
            os.fsync(file.fileno())

    def clear(self) -> None:
        """Give the room back."""
        self.filler.unlink()

    def fail(self) -> None:
        """Have the kernel believe that the file system is damaged: it turns it read-only."""
        Path(f"/sys/fs/ext4/{self.device}/trigger_fs_error").write_text("necroscope lab")


@contextmanager
def small_disk(folder: Path, mebibytes: int = 64) -> Iterator[SmallDisk]:
    """Make a file system at a folder; it is gone in the end."""
    image = folder.with_name(f"{folder.name}.img")
    with image.open("wb") as file:
        file.truncate(mebibytes << 20)
    _run("mkfs.ext4", "-q", "-F", "-m", "0", "-e", "remount-ro", str(image))
    device = _run("losetup", "--find", "--show", str(image))
    folder.mkdir()
    try:
        _run("mount", "-o", "errors=remount-ro", device, str(folder))
        try:
            yield SmallDisk(folder, Path(device).name)
        finally:
            _run("umount", str(folder))
    finally:
        _run("losetup", "--detach", device)
        image.unlink()


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout.strip()
