"""The machine is held while it is changed, and knows of a fix that was left in the middle.

Both are files in a folder that only its owner can enter, so that nobody else can hold up a fix: of a running
machine in its own /run, of an image in the /run of the machine that works on it.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from necroscope.errors import StoreError
from necroscope.recording.durable import write_durably
from necroscope.recording.process_lock import locked
from necroscope.sources.host import Host, read_whole

RUN = Path("/run")  # of the machine that we run on
FOLDER = "necroscope"
HINT = "a lock there keeps two fixes of one machine apart; nothing was changed"


@dataclass(frozen=True, slots=True)
class Left:
    """A fix that has begun and is not known to have ended."""

    id: str
    store: str  # as whoever began it calls it


@dataclass(frozen=True, slots=True)
class MachinePlace:
    """Where a machine is held."""

    folder: Path
    name: str

    @property
    def lock(self) -> Path:
        """Held while it is changed."""
        return self.folder / f"{self.name}.lock"

    @property
    def note(self) -> Path:
        """The fix that is under way, or was left."""
        return self.folder / f"{self.name}.begun"


def machine_place(host: Host) -> MachinePlace | None:
    """None for an image, and a user who has no folder for what runs: the store's own lock has to do."""
    if host.is_live:
        return MachinePlace(host.path("/run") / FOLDER, "fix")
    name = f"image-{sha256(os.fsencode(host.root.resolve())).hexdigest()[:16]}"
    if os.geteuid() == 0:
        return MachinePlace(RUN / FOLDER, name)
    folder = os.environ.get("XDG_RUNTIME_DIR", "")
    return MachinePlace(Path(folder) / FOLDER, name) if folder and Path(folder).is_dir() else None


@contextmanager
def held_machine(host: Host, tries: int) -> Iterator[None]:
    """Hold it. Raises AlreadyHeldError, and StoreError where there is no place for the lock."""
    place = machine_place(host)
    with ExitStack() as stack:
        try:
            if place:
                _make_private(place.folder, host)
                stack.enter_context(locked(place.lock, 0o600, tries=tries, remove=True))
        except OSError as error:
            raise StoreError(f"{error.filename or place}: {error.strerror}", hint=HINT) from error
        yield


def note_begun(host: Host, id: str, store: Path) -> None:
    """Leave a note for those who have another store. Raises OSError."""
    if place := machine_place(host):
        text = json.dumps(asdict(Left(id, str(store.resolve()))))
        write_durably(place.note, text.encode(), mode=0o600)


def forget_begun(host: Host) -> None:
    """It has ended."""
    if place := machine_place(host):
        place.note.unlink(missing_ok=True)


def read_begun(host: Host) -> Left | None:
    """The fix that was begun last and is not known to have ended; None where there is none."""
    place = machine_place(host)
    try:
        document = json.loads(read_whole(place.note)) if place else {}
        return Left(str(document["id"]), str(document["store"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _make_private(folder: Path, host: Host) -> None:
    """A folder that nobody else can enter; one that is there has to be such. Raises OSError, StoreError."""
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    owners = (os.geteuid(), host.root.stat().st_uid)  # root of a container is not ours
    if not stat.S_ISDIR(status.st_mode) or status.st_uid not in owners or status.st_mode & 0o077:
        raise StoreError(f"{folder} is not a folder of root's alone", hint=HINT)
