"""The modules that a guest's first seconds need, before its files are there.

Reads    modules.dep and modules.builtin of a kernel's folder of modules
"""

from __future__ import annotations

import gzip
import lzma
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

# What must be loaded before the root is there, and how a kernel's configuration calls it.
BOOT_MODULES = {
    "virtio_pci": "CONFIG_VIRTIO_PCI",
    "virtio_net": "CONFIG_VIRTIO_NET",
    "9pnet_virtio": "CONFIG_NET_9P_VIRTIO",
    "9p": "CONFIG_9P_FS",
    "overlay": "CONFIG_OVERLAY_FS",
}


def missing_boot_modules(modules: Path | None, configuration: Path) -> list[str]:
    """Which of them a kernel has neither as a module nor built in; none where nothing tells.

    Without a folder of modules all must be built in, and only the configuration beside the image tells.
    """
    if modules:
        has = {_name(line) for line in _lines(modules / "modules.dep") + _lines(modules / "modules.builtin")}
        return [name for name in BOOT_MODULES if name not in has]
    if not configuration.exists():
        return []
    built_in = set(re.findall(r"^(\w+)=y$", configuration.read_text(), re.MULTILINE))
    return [name for name, option in BOOT_MODULES.items() if option not in built_in]


def in_load_order(modules: Path) -> Iterator[Path]:
    """The boot modules, each after those it depends on; what is built into this kernel is left out."""
    needs = {
        name: depends.split()
        for name, depends in (line.split(":") for line in _lines(modules / "modules.dep"))
    }
    files = {_name(name): name for name in needs}
    wanted = [files[module] for module in BOOT_MODULES if module in files]
    # modules.dep lists the nearest dependency first
    ordered = dict.fromkeys(name for last in wanted for name in [*reversed(needs[last]), last])
    return (modules / name for name in ordered)


def read_module(path: Path) -> bytes:
    """A module as the kernel wants it; busybox cannot unpack any."""
    match path.suffix:
        case ".xz":  # Debian from 6.12 on
            return lzma.decompress(path.read_bytes())
        case ".zst":  # Ubuntu from 6.5 on
            return subprocess.run(["zstd", "-dcq", str(path)], capture_output=True, check=True).stdout
        case ".gz":
            return gzip.decompress(path.read_bytes())
        case _:
            return path.read_bytes()


def _name(line: str) -> str:
    """The module of a line of modules.dep or modules.builtin."""
    return line.partition(":")[0].rpartition("/")[2].partition(".")[0].replace("-", "_")


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []
