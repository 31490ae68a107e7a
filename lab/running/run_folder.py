"""The folder of a run, emptied if an earlier run has left it."""

from __future__ import annotations

import shutil
from pathlib import Path

from lab.running.transcript import NAME

CHECKOUT = Path(__file__).parents[2]
# In the checkout, because a container hides /tmp.
DEFAULT = CHECKOUT / "build/lab"


class FolderError(ValueError):
    """A folder that is not of a run, and is not emptied."""


def empty_folder(top: Path, scenario: str, number: int = 0) -> Path:
    """An empty folder for a run, or for one of several runs; the first of them empties those of all."""
    of_all = (top / scenario).resolve()
    folder = of_all / str(number) if number else of_all
    emptied = folder if number > 1 else of_all
    check_folder(emptied)
    if emptied.is_dir() and any(emptied.iterdir()):
        shutil.rmtree(emptied)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def check_folder(folder: Path) -> None:
    """FolderError unless it can be emptied."""
    if folder.exists() and not folder.is_dir():
        raise FolderError(f"{folder} is a file")
    if folder.is_dir() and any(folder.iterdir()):
        if not any(folder.rglob(NAME)):
            raise FolderError(f"{folder} has files, and is not the folder of a run")
        if has_mounts(folder):
            raise FolderError(f"{folder}: something is mounted in it")


def has_mounts(folder: Path) -> bool:
    """Removing a folder with something mounted in it would empty what is mounted."""
    places = (Path(line.split(" ")[4]) for line in Path("/proc/self/mountinfo").read_text().splitlines())
    return any(place.is_relative_to(folder) for place in places)
