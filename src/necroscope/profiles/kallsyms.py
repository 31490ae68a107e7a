"""The kernel's symbols, saved once per boot: after a reboot its functions are elsewhere (KASLR)."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from necroscope.sources.host import Host
from necroscope.store.durable import make_folders, write_durably

FOLDER = ".kallsyms"
BOOT_ID = "/proc/sys/kernel/random/boot_id"
LIVE = Path("/proc/kallsyms")


def running_kallsyms(path: Path = LIVE) -> Path | None:
    """The running kernel's symbols, where we may see their addresses.

    Who may not sees only zeros. Some are zeros for everybody: on older kernels for x86-64 the per-CPU
    variables begin at address 0, and come first.
    """
    try:
        with path.open("rb") as file:
            return path if any(int(line.split()[0], 16) for line in file) else None
    except (OSError, ValueError, IndexError):
        return None


def save_kallsyms(host_folder: Path, boot_id: str, needed: set[str]) -> None:
    """Keep the symbols of this boot, and those of boots that still have segments to be sealed."""
    folder = host_folder / FOLDER
    with suppress(OSError):  # a full disk: the live ones serve while this boot lasts
        make_folders(folder)
        for path in folder.iterdir():
            if path.name not in (boot_id, *needed):
                path.unlink()
        live = running_kallsyms()
        if live and boot_id and not (folder / boot_id).exists():
            write_durably(folder / boot_id, live.read_bytes())


def kallsyms_of(host_folder: Path, boot_id: str) -> Path | None:
    """Return the symbols of a boot: the live ones, which know the newest modules, or the saved ones."""
    if boot_id == Host().word(BOOT_ID):
        return running_kallsyms()
    saved = host_folder / FOLDER / boot_id
    return saved if boot_id and saved.exists() else None
