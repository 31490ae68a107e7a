"""What a stop would set off, as a plan has to say it."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from necroscope.errors import CannotLookError, RefusedError
from necroscope.sources.host import Host
from necroscope.sources.systemd.stop_effects import StopEffects, read_stop_effects
from necroscope.sources.systemd.unit_generators import NETWORK

# Mounted for a while by somebody, or from elsewhere: a node does without.
GUEST_MOUNTS = ("media-*.mount", "mnt*.mount", "run-media-*.mount")
GUEST_TYPES = ("_netdev", "9p", "virtiofs", "fuse.*", "iso9660", "autofs")
MOUNTED = "it is mounted, and what lies on it is gone for all that use it"


def foresee_stop(host: Host, names: tuple[str, ...]) -> StopEffects:
    """What a stop of these would set off; in an image, nothing. RefusedError where systemd refuses it."""
    if not host.is_live:
        return StopEffects()
    reading = read_stop_effects(host, names)
    if reading.value is None:
        raise CannotLookError(f"what a stop sets off is not known: {reading.reason}", hint="run as root")
    if reading.value.refusing:
        what = f"{', '.join(reading.value.refusing)}: systemd refuses to stop it (RefuseManualStop=)"
        raise RefusedError(what, hint="stop what it is part of; nothing was changed")
    return reading.value


def stop_warnings(unit: str, effects: StopEffects) -> Iterator[str]:
    """What else happens, in sentences."""
    for name in effects.along:
        yield f"{name} is stopped along with {unit}"
    for name, why in effects.lost.items():
        yield f"{name} cannot be started again by an undo: {why}"
    for name, key in effects.started.items():
        when = "once it has stopped" if key.startswith("OnSuccess") else "if its stop fails"
        yield f"{name} is started {when} ({key}); an undo stops it"
    for name in effects.run_again:
        if name not in effects.lost:
            yield f"{name} has run and ended: an undo runs it again"
    for name, type in effects.mounts.items():
        if type in ("tmpfs", "ramfs"):
            yield f"{name} is a {type}: what lies in it is gone, and an undo does not bring it back"


def vital_effects(effects: StopEffects) -> Iterator[str]:
    """What a node cannot do without, or would not survive."""
    for name, action in effects.acting.items():
        yield f"{name}: its {action} would act on the whole machine"
    for name, type in effects.mounts.items():
        is_guest = any(fnmatchcase(name, glob) for glob in GUEST_MOUNTS)
        is_guest |= any(fnmatchcase(type, glob) for glob in GUEST_TYPES) or bool(NETWORK.fullmatch(type))
        if not is_guest:
            yield f"{name}: {MOUNTED}"
