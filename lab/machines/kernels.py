"""Kernels to boot in a guest: Debian's, fetched as packages, and any other that is given as a file.

    kernel_of("6.1")                 # Debian's own, unpacked into the user's cache
    kernel_from(Path("vmlinuz"))     # an image with its modules, packages, or a folder of either

None is installed.

Needs    apt-get, dpkg-deb, depmod (kmod), the Debian archive keyring, and one earlier `apt-get update`; of
         these a given image needs nothing, and a given package dpkg-deb and depmod
Costs    8 to 20 s and 120 to 400 MB a kernel of Debian, once; 4 s for a given package, once (measured)
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.machines.kernel_image import HEAD_BYTES, parse_release
from lab.machines.kernel_modules import missing_boot_modules

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


IMAGES = ("boot/vmlinuz*", "boot/bzImage*", "vmlinuz*", "bzImage*", "lib/modules/*/vmlinuz")


class KernelError(RuntimeError):
    """There is no such kernel, or no guest can boot it; the message says which and why."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel, unpacked."""

    release: str  # as `uname -r` prints it
    image: Path
    modules: Path | None  # None: all that a guest needs is built in


def kernel_of(series: str) -> Kernel:
    """Debian's kernel of that series, from the release's own archive; fetched once into the user's cache."""
    if series not in DEBIAN_RELEASES:
        raise KernelError(f"no Debian release has Linux {series}; known: {', '.join(DEBIAN_RELEASES)}")
    folder = _cached(series, lambda scratch: _download(series, scratch))
    (image,) = (folder / "boot").glob("vmlinuz-*")
    release = image.name.removeprefix("vmlinuz-")
    return Kernel(release, image, folder / "lib/modules" / release)


def kernel_from(path: Path) -> Kernel:
    """The kernel at a path: an image, a .deb package, a folder of packages, or one of boot/ and lib/modules.

    Its release is what the image says. Modules are looked for beside the image and in /lib/modules.
    """
    path = path.absolute()
    packages = [path] if path.suffix == ".deb" else sorted(path.glob("*.deb"))
    if not path.exists():
        raise KernelError(f"{path}: no such file or folder")
    if packages:
        path = _cached(_key(packages), lambda scratch: _unpack(packages, scratch))
    image = _image_in(path) if path.is_dir() else path
    with image.open("rb") as file:
        head = file.read(HEAD_BYTES)
    try:
        release = parse_release(head)
    except ValueError as error:
        raise KernelError(f"{image}: {error}") from None
    modules = _modules_of(image, release)
    if missing := missing_boot_modules(modules, image.with_name(f"config-{release}")):
        where = modules or "its configuration, and no modules of it were found"
        raise KernelError(
            f"{image}: Linux {release} cannot boot in a guest: {', '.join(missing)} missing in {where}"
        )
    return Kernel(release, image, modules)


def _image_in(folder: Path) -> Path:
    images = sorted({path for pattern in IMAGES for path in folder.glob(pattern) if not path.is_symlink()})
    if len(images) != 1:
        found = ", ".join(str(image.relative_to(folder)) for image in images) or "none"
        raise KernelError(f"{folder}: needs one kernel image (boot/vmlinuz-*) or packages with one: {found}")
    return images[0]


def _modules_of(image: Path, release: str) -> Path | None:
    """The folder of modules that is of this very release, if there is one."""
    beside, above = image.parent, image.parent.parent
    places = [top / part for top in (above, beside) for part in ("lib/modules", "usr/lib/modules")]
    candidates = [place / release for place in (*places, Path("/lib/modules"))]
    found = next((folder for folder in candidates if folder.is_dir()), None)
    if found and not (found / "modules.dep").exists():
        command = f"depmod -b {found.parents[2]} {release}"
        raise KernelError(f"{found}: has no modules.dep: run `{command}`")
    return found


def _cached(name: str, make: Callable[[Path], Path]) -> Path:
    """A folder of the user's cache, made once: by `make` in a scratch folder, and only moved when whole."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "necroscope/kernels"
    folder = cache / name
    if not folder.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
            made = make(Path(scratch))
            try:
                made.rename(folder)
            except OSError:  # another process was faster: its kernel is as good
                if not folder.exists():
                    raise
    return folder


def _key(packages: Sequence[Path]) -> str:
    """A name for the kernel in these packages; another if one of them changes."""
    facts = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in packages]
    return f"packages-{hashlib.sha256(repr(facts).encode()).hexdigest()[:16]}"


def _unpack(packages: Sequence[Path], scratch: Path) -> Path:
    """All packages of one kernel in one folder: Ubuntu has the modules in others than the image."""
    unpacked = scratch / "kernel"
    unpacked.mkdir()
    for package in packages:
        _ask(("dpkg-deb", "-x", str(package), str(unpacked)), scratch, str(package))
    if not any(unpacked.glob("**/lib/modules/*/kernel")):
        names = ", ".join(package.name for package in packages)
        raise KernelError(f"no modules in {names}: put all packages of the kernel in a folder and give that")
    _index_modules(unpacked)
    return unpacked


def _index_modules(unpacked: Path) -> None:
    """As the package's own script would do after its installation."""
    if not (unpacked / "lib").exists():  # from trixie on a package has /usr/lib only
        (unpacked / "lib").symlink_to("usr/lib")
    for folder in (unpacked / "lib/modules").glob("*"):
        _ask(("depmod", "-b", str(unpacked), folder.name), unpacked, f"modules of Linux {folder.name}")


def _download(series: str, folder: Path) -> Path:
    """Fetch with an apt of our own, from the mirror the host uses; the host's apt is not changed."""

    def ask(*command: str) -> str:
        return _ask(command, folder, f"Linux {series}")

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
    _index_modules(unpacked)
    return unpacked


def _ask(command: Sequence[str], folder: Path, what: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise KernelError(f"{what}: `{shlex.join(command)}` failed: {done.stderr.strip()}")
    return done.stdout
