"""One fix at a time, and the second is told who the first is.

A fix holds its store, and the machine, which may be fixed from another store as well and knows of a fix that
was left in the middle. Both files of a machine are in a folder that only its owner can enter, so that nobody
else can hold up a fix: of a running machine in its own /run, of an image in the /run of the machine that
works on it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from necroscope.errors import FixHeldError, StoreError, UntrustedFolderError
from necroscope.remedies.apply.fixes_folder import FILE_MODE, make_fixes_folder, opened_fixes
from necroscope.sources.host import Host
from necroscope.sources.plain_files import read_plain
from necroscope.store.durable import write_durably
from necroscope.store.process_lock import AlreadyHeldError, is_held, locked, told_by
from necroscope.store.trusted_folder import open_private

LOCK = Path("lock")
SOMEBODY = "another process"
TRIES = 5  # whoever lists the fixes holds it for an instant
RUN = Path("/run")  # of the machine that we run on
FOLDER = "necroscope-fixes"  # the service has /run/necroscope
MAX_BYTES = 64 << 10
HINT = "a lock there keeps two fixes of one machine apart; nothing was changed"


@contextmanager
def held(store: Path, host: Host) -> Iterator[None]:
    """Hold the fixes of a store, and the machine itself, which may be fixed from another store as well.

    The kernel lets go when we end, however that is.
    """
    with ExitStack() as stack:
        try:
            make_fixes_folder(store)
            folder = stack.enter_context(opened_fixes(store))
            stack.enter_context(locked(LOCK, FILE_MODE, tries=TRIES, dir_fd=folder.descriptor))
        except OSError as error:
            hint = "--store names a folder that can be written; nothing was changed"
            what = f"{error.filename or store}: {error.strerror or error}"
            raise StoreError(what, hint=hint) from error
        except AlreadyHeldError as error:
            raise _held_by(str(error.holder or SOMEBODY)) from error
        try:
            stack.enter_context(_held_machine(host))
        except AlreadyHeldError as error:
            raise _held_by(f"{error.holder or SOMEBODY}, with another --store") from error
        yield


def holder_of(store: Path) -> str:
    """Who carries out a fix with this store right now, in words; empty where nobody does."""
    try:
        with opened_fixes(store) as folder:
            if not is_held(LOCK, dir_fd=folder.descriptor):
                return ""
            return str(told_by(LOCK, dir_fd=folder.descriptor) or SOMEBODY)
    except OSError:
        return ""


def _held_by(holder: str) -> FixHeldError:
    hint = "wait until it has ended; `necroscope fix --list` shows how far it is"
    return FixHeldError(f"a fix is being carried out by {holder}", hint=hint)


@dataclass(frozen=True, slots=True)
class Begun:
    """A fix that has begun and is not known to have ended."""

    id: str
    store: str  # as whoever began it calls it


@dataclass(frozen=True, slots=True)
class MachinePlace:
    """Where a machine is held."""

    folder: Path
    name: str
    root: Path = Path("/")  # of the machine in which the folder is

    @property
    def lock(self) -> str:
        """Held while it is changed."""
        return f"{self.name}.lock"

    @property
    def note(self) -> str:
        """The fix that is under way, or was left."""
        return f"{self.name}.begun"

    @contextmanager
    def opened(self, *, make: bool = False) -> Iterator[int]:
        """Open the folder. Raises OSError, and UntrustedFolderError if others may enter it."""
        owner = self.root.stat().st_uid  # root of a container is not ours
        descriptor = open_private(self.folder, make=make, root=self.root, owners=(owner,))
        try:
            yield descriptor
        finally:
            os.close(descriptor)


def machine_place(host: Host) -> MachinePlace | None:
    """None for an image, and a user who has no folder for what runs: the store's own lock has to do."""
    if host.is_live:
        return MachinePlace(host.path("/run") / FOLDER, "fix", host.root)
    name = f"image-{sha256(os.fsencode(host.root.resolve())).hexdigest()[:16]}"
    if os.geteuid() == 0:
        return MachinePlace(RUN / FOLDER, name)
    folder = os.environ.get("XDG_RUNTIME_DIR", "")
    return MachinePlace(Path(folder) / FOLDER, name) if folder and Path(folder).is_dir() else None


@contextmanager
def _held_machine(host: Host) -> Iterator[None]:
    """Hold it. Raises AlreadyHeldError, and StoreError where there is no place for the lock."""
    place = machine_place(host)
    with ExitStack() as stack:
        try:
            if place:
                folder = stack.enter_context(place.opened(make=True))
                lock = locked(Path(place.lock), FILE_MODE, tries=TRIES, remove=True, dir_fd=folder)
                stack.enter_context(lock)
        except OSError as error:
            raise StoreError(f"{error.filename or place}: {error.strerror}", hint=HINT) from error
        except UntrustedFolderError as error:
            raise UntrustedFolderError(error.what, hint=f"{error.hint}; {HINT}") from error
        yield


def note_begun(host: Host, id: str, store: Path) -> None:
    """Leave a note for those who have another store. Raises OSError."""
    if place := machine_place(host):
        text = json.dumps(asdict(Begun(id, str(store.resolve()))))
        with place.opened() as folder:
            write_durably(Path(place.note), text.encode(), mode=FILE_MODE, dir_fd=folder)


def forget_begun(host: Host) -> None:
    """It has ended."""
    if place := machine_place(host):
        with suppress(FileNotFoundError), place.opened() as folder:
            os.unlink(place.note, dir_fd=folder)


def read_begun(host: Host) -> Begun | None:
    """The fix that was begun last and is not known to have ended; None where there is none."""
    try:
        if (place := machine_place(host)) is None:
            return None
        with place.opened() as folder:
            document = json.loads(read_plain(place.note, MAX_BYTES, dir_fd=folder))
        return Begun(str(document["id"]), str(document["store"]))
    except (OSError, UntrustedFolderError, ValueError, KeyError, TypeError, RecursionError):
        return None
