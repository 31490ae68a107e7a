"""A kernel that is given as a file: what is accepted, and what is said of the rest."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lab.machines import qemu
from lab.machines.kernel_image import parse_release
from lab.machines.kernel_modules import in_load_order, missing_boot_modules, read_module
from lab.machines.kernels import Kernel, KernelError, kernel_from, kernel_of
from lab.machines.qemu import Guest

NO_PACKAGES = shutil.which("dpkg-deb") is None or shutil.which("depmod") is None
needs_packages = pytest.mark.skipif(NO_PACKAGES, reason="needs dpkg-deb and depmod (kmod)")
needs_guest = pytest.mark.skipif(qemu.why_not() is not None, reason=str(qemu.why_not()))
RELEASE = "5.4.0-9-lab"
BOOT = ("virtio_pci", "virtio_net", "9pnet_virtio", "9p", "overlay")


def image(release: str = RELEASE, protocol: int = 0x20F, load_flags: int = 1) -> bytes:
    """The header of a bzImage, as boot.rst lays it out, with the text right behind it."""
    head = bytearray(0x300)
    head[0x1FE:0x200] = b"\x55\xaa"
    head[0x202:0x206] = b"HdrS"
    head[0x206:0x208] = protocol.to_bytes(2, "little")
    head[0x20E:0x210] = (0x80).to_bytes(2, "little")
    head[0x236:0x238] = load_flags.to_bytes(2, "little")
    return bytes(head[:0x280]) + f"{release} (builder@lab) #1 SMP\0".encode()


def plant_modules(root: Path, names: tuple[str, ...] = BOOT, built_in: tuple[str, ...] = ()) -> Path:
    folder = root / "lib/modules" / RELEASE
    folder.mkdir(parents=True)
    (folder / "modules.dep").write_text("".join(f"kernel/{name}.ko:\n" for name in names))
    (folder / "modules.builtin").write_text("".join(f"kernel/{name}.ko\n" for name in built_in))
    return folder


def plant_image(root: Path, content: bytes | None = None) -> Path:
    path = root / "boot/vmlinuz-of-another-name"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if content is not None else image())
    return path


def test_the_release_is_what_the_image_says() -> None:
    assert parse_release(image("6.1.0-50-amd64")) == "6.1.0-50-amd64"
    assert parse_release(image("2.6.32", protocol=0x20A, load_flags=0)) == "2.6.32", (
        "older headers have no flags"
    )


@pytest.mark.servers  # fetches them
@needs_packages
@pytest.mark.parametrize("series", ["5.10", "6.1", "6.12"])
def test_real_images_say_what_their_packages_are_called(series: str) -> None:
    try:
        kernel = kernel_of(series)
    except KernelError as error:
        pytest.skip(str(error))
    assert kernel_from(kernel.image) == kernel
    assert kernel_from(kernel.image.parents[1]) == kernel, "the folder above it"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not a Linux kernel image"),
        (b"#!/bin/sh\n" * 100, "not a Linux kernel image"),
        (b"\x7fELF" + bytes(100), "ELF file"),
        (bytes(0x38) + b"ARM\x64" + bytes(8), "arm64"),
        (b"MZ\0\0zimg" + bytes(600), "another architecture"),
        (image(load_flags=0), "32-bit"),
        (image()[:0x280] + b"  \0", "does not tell its release"),
        (image()[:0x240], "does not tell its release"),
    ],
)
def test_what_no_guest_can_boot_is_named(tmp_path: Path, content: bytes, said: str) -> None:
    path = plant_image(tmp_path, content)
    with pytest.raises(KernelError, match=said) as error:
        kernel_from(path)
    assert str(path) in str(error.value)


def test_modules_are_found_beside_the_image(tmp_path: Path) -> None:
    path = plant_image(tmp_path)
    modules = plant_modules(tmp_path, BOOT[:3], built_in=BOOT[3:])
    assert kernel_from(path) == kernel_from(tmp_path) == Kernel(RELEASE, path, modules)


def test_missing_modules_are_named(tmp_path: Path) -> None:
    plant_image(tmp_path)
    plant_modules(tmp_path, ("virtio_pci", "virtio_net", "9p"))
    with pytest.raises(KernelError, match=f"{RELEASE} cannot boot in a guest: 9pnet_virtio, overlay missing"):
        kernel_from(tmp_path)


def test_modules_of_another_release_do_not_count(tmp_path: Path) -> None:
    plant_image(tmp_path, image("5.4.0-10-lab"))
    plant_modules(tmp_path)
    (tmp_path / "boot/config-5.4.0-10-lab").write_text("CONFIG_VIRTIO_PCI=y\nCONFIG_9P_FS=m\n")
    with pytest.raises(
        KernelError, match="virtio_net, 9pnet_virtio, 9p, overlay missing in its configuration"
    ):
        kernel_from(tmp_path)


def test_a_kernel_with_all_built_in_needs_no_modules(tmp_path: Path) -> None:
    path = plant_image(tmp_path)
    assert kernel_from(path) == Kernel(RELEASE, path, None)
    options = ("VIRTIO_PCI", "VIRTIO_NET", "NET_9P_VIRTIO", "9P_FS", "OVERLAY_FS")
    (tmp_path / f"boot/config-{RELEASE}").write_text("".join(f"CONFIG_{name}=y\n" for name in options))
    assert kernel_from(path) == Kernel(RELEASE, path, None)


def test_modules_without_an_index_say_what_to_run(tmp_path: Path) -> None:
    plant_image(tmp_path)
    (plant_modules(tmp_path) / "modules.dep").unlink()
    with pytest.raises(KernelError, match=f"run `depmod -b {tmp_path} {RELEASE}`"):
        kernel_from(tmp_path)


def test_a_folder_must_have_one_kernel(tmp_path: Path) -> None:
    with pytest.raises(KernelError, match=r"needs one kernel image .*: none"):
        kernel_from(tmp_path)
    plant_image(tmp_path)
    shutil.copy(tmp_path / "boot/vmlinuz-of-another-name", tmp_path / "boot/vmlinuz-b")
    with pytest.raises(KernelError, match="boot/vmlinuz-b, boot/vmlinuz-of-another-name"):
        kernel_from(tmp_path)
    with pytest.raises(KernelError, match="no such file"):
        kernel_from(tmp_path / "gone")


@needs_packages
def test_a_package_without_modules_or_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    plant_image(tmp_path / "tree")
    package = build_package(tmp_path / "tree", tmp_path / "image.deb")
    with pytest.raises(KernelError, match=r"no modules in image\.deb"):
        kernel_from(package)
    package.write_bytes(b"!<arch>\n")
    with pytest.raises(KernelError, match=r"image\.deb: `dpkg-deb"):
        kernel_from(package)
    assert not list((tmp_path / "cache/necroscope/kernels").iterdir()), "nothing half done is left"


@pytest.mark.servers
@needs_guest
@needs_packages
def test_image_and_modules_in_two_packages_boot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        debian = kernel_of("6.1")
    except KernelError as error:
        pytest.skip(str(error))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    packages = tmp_path / "packages"
    packages.mkdir()
    build_package(image_tree(debian, tmp_path / "a"), packages / "image.deb")
    build_package(modules_tree(debian, tmp_path / "b"), packages / "modules.deb")
    kernel = kernel_from(packages)
    assert kernel.release == debian.release
    assert kernel_from(packages) == kernel, "unpacked once"
    done = Guest(kernel).run(["uname", "-r"], timeout_seconds=120)
    assert done.stdout == f"{debian.release}\n"


def image_tree(kernel: Kernel, tree: Path) -> Path:
    (tree / "boot").mkdir(parents=True)
    shutil.copy(kernel.image, tree / "boot/vmlinuz-without-a-release")
    return tree


def modules_tree(kernel: Kernel, tree: Path) -> Path:
    """Only what a boot needs, each packed as another distribution does."""
    assert kernel.modules
    target = tree / "usr/lib/modules" / kernel.release
    packers = (["zstd", "-q", "--rm"], ["xz"], ["true"])  # Debian's depmod reads none of gzip's
    for number, path in enumerate(in_load_order(kernel.modules)):
        copy = target / path.relative_to(kernel.modules)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
        subprocess.run([*packers[number % len(packers)], str(copy)], check=True)
    for name in ("modules.order", "modules.builtin", "modules.builtin.modinfo"):
        shutil.copy(kernel.modules / name, target / name)
    return tree


def build_package(tree: Path, package: Path) -> Path:
    control = tree / "DEBIAN/control"
    control.parent.mkdir()
    facts = {"Package": package.stem, "Version": "1", "Architecture": "amd64", "Description": "a test"}
    facts["Maintainer"] = "lab <lab@localhost>"
    control.write_text("".join(f"{name}: {value}\n" for name, value in facts.items()))
    subprocess.run(["dpkg-deb", "-Znone", "-b", str(tree), str(package)], check=True, capture_output=True)
    return package


def test_packed_modules_are_unpacked(tmp_path: Path) -> None:
    plain = tmp_path / "m.ko"
    plain.write_bytes(b"a module" * 100)
    for packer in (["gzip", "-k"], ["xz", "-k"], ["zstd", "-qk"]):
        if shutil.which(packer[0]):
            subprocess.run([*packer, str(plain)], check=True)
    packed = [path for path in tmp_path.iterdir() if path != plain]
    assert packed
    assert {read_module(path) for path in (plain, *packed)} == {b"a module" * 100}


def test_dashes_and_underscores_are_one(tmp_path: Path) -> None:
    modules = plant_modules(tmp_path, ("virtio-pci", "virtio-net", "9pnet-virtio", "9p", "overlay"))
    assert missing_boot_modules(modules, tmp_path / "none") == []
    assert len(list(in_load_order(modules))) == len(BOOT)


@needs_guest
def test_without_modules_the_guest_loads_none(tmp_path: Path) -> None:
    qemu._pack_initramfs(Guest(Kernel(RELEASE, Path(sys.executable), None)), tmp_path)
    assert list((tmp_path / "initramfs/modules").iterdir()) == []
    assert "[ -z '' ]" in (tmp_path / "initramfs/init").read_text()
