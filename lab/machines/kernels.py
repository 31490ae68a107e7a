"""Debian's kernels, fetched as packages and unpacked into the user's cache; none is installed.

Needs    apt-get, dpkg-deb, depmod (kmod), the Debian archive keyring, and one earlier `apt-get update`
Costs    8 to 20 s and 120 to 400 MB a kernel, once
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

DEBIAN_RELEASES = {"5.10": "bullseye", "6.1": "bookworm", "6.12": "trixie"}
APT_CONFIGURATION = """\
Dir::Etc::SourceList "@FOLDER@/sources.list";
Dir::Etc::SourceParts "-";
Dir::State "@FOLDER@/state";
Dir::State::status "/dev/null";
Dir::Cache "@FOLDER@/cache";
APT::Architecture "amd64";
APT::Sandbox::User "root";
#clear APT::Update;
"""


class KernelError(RuntimeError):
    """Debian has no such kernel, or the mirror did not give it."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel package, unpacked."""

    release: str  # as `uname -r` prints it
    image: Path
    modules: Path


def kernel_of(series: str) -> Kernel:
    """Debian's kernel of that series, from the release's own archive; fetched once into the user's cache."""
    if series not in DEBIAN_RELEASES:
        raise KernelError(f"no Debian release has Linux {series}; known: {', '.join(DEBIAN_RELEASES)}")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "necroscope/kernels"
    folder = cache / series
    if not folder.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as name:
            unpacked = _download(series, Path(name))
            try:
                unpacked.rename(folder)
            except OSError:  # another process was faster: its kernel is as good
                if not folder.exists():
                    raise
    (image,) = (folder / "boot").glob("vmlinuz-*")
    release = image.name.removeprefix("vmlinuz-")
    return Kernel(release, image, folder / "lib/modules" / release)


def _download(series: str, folder: Path) -> Path:
    """Fetch with an apt of our own, from the mirror the host uses; the host's apt is not changed."""

    def ask(*command: str) -> str:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise KernelError(f"Linux {series}: `{shlex.join(command)}` failed: {done.stderr.strip()}")
        return done.stdout

    targets = ("Created-By: Packages", "Origin: Debian", "Label: Debian")
    mirrors = ask("apt-get", "indextargets", "--format", "$(SITE)", *targets).split()
    if not mirrors:
        raise KernelError(f"Linux {series}: apt knows no Debian mirror here (apt-get update?)")
    keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
    source = f"deb [signed-by={keyring}] {mirrors[0]} {DEBIAN_RELEASES[series]} main\n"
    (folder / "sources.list").write_text(source)
    (folder / "apt.conf").write_text(APT_CONFIGURATION.replace("@FOLDER@", str(folder)))
    for needed in ("state/lists/partial", "cache/archives/partial", "kernel"):
        (folder / needed).mkdir(parents=True)
    ask("apt-get", "-c", "apt.conf", "update", "--error-on=any")
    depends = ask("apt-cache", "-c", "apt.conf", "depends", "linux-image-amd64")
    package = re.search(r"Depends: (linux-image-\S+)", depends)
    if package is None:
        raise KernelError(f"Linux {series}: {DEBIAN_RELEASES[series]} has no linux-image-amd64")
    ask("apt-get", "-c", "apt.conf", "download", package[1])
    (archive,) = folder.glob("linux-image-*.deb")
    unpacked = folder / "kernel"
    ask("dpkg-deb", "-x", str(archive), str(unpacked))
    if not (unpacked / "lib").exists():  # from trixie on the package has /usr/lib only
        (unpacked / "lib").symlink_to("usr/lib")
    ask("depmod", "-b", str(unpacked), package[1].removeprefix("linux-image-"))
    return unpacked
