"""The image built for real, without a registry: its bases are made here, and named as in the Dockerfile.

A Debian comes from debootstrap; a Rust and a Node.js from what this machine has, put on top of it. The same
packages, then, in other layers than those of the official images. Everything is kept in one folder.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.deploy.dockerfile import parse_dockerfile

ROOT = Path(__file__).parents[2]
RECIPE = parse_dockerfile((ROOT / "deploy/image/Dockerfile").read_text())
PROGRAMS = ("buildah", "podman", "runc", "debootstrap", "rustc", "node", "npm", "git", "nsenter")
MIRROR = "http://deb.debian.org/debian"
SECURITY = "deb http://deb.debian.org/debian-security bookworm-security main\n"
# As the official slim images have it.
LEFT_OUT = ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info")
EMPTY = ("var/cache/apt", "var/lib/apt/lists", "var/log")
# Of this machine: the way to its packages may need them. Into the stages that build, never into the last.
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
TRUST = ("PIP_CERT", "CARGO_HTTP_CAINFO", "NODE_EXTRA_CA_CERTS")
RUST_FOLDER = "/usr/local/rustup"


class UnfitError(RuntimeError):
    """The bases cannot be made here; the message says why."""


def why_not() -> str | None:
    """Say why no image can be built here, or None."""
    if os.geteuid() != 0:
        return "not root"
    absent = [program for program in PROGRAMS if shutil.which(program) is None]
    return f"not installed: {', '.join(absent)}" if absent else None


@dataclass(frozen=True, slots=True)
class Workshop:
    """A folder with all that is built in it."""

    folder: Path

    def place(self) -> list[str]:
        """Where buildah and podman keep what they make."""
        places = ["--root", str(self.folder / "storage"), "--runroot", str(self.folder / "run")]
        return [*places, "--storage-driver", "overlay"]

    def buildah(self, *words: str) -> str:
        """What buildah prints; CalledProcessError with all that it said."""
        return self._run(["nice", "buildah", *self.place(), *words])

    def podman(self, *words: str) -> list[str]:
        """The line of a podman; runc, because crun refuses a machine with cgroups of both versions."""
        return [
            "podman",
            *self.place(),
            "--cgroup-manager=cgroupfs",
            "--events-backend=file",
            "--runtime=runc",
            *words,
        ]

    def run_line(self, *words: str) -> list[str]:
        """The line of a container that is gone when it ends, with the limits that we have ourselves."""
        limits = {"nofile": resource.RLIMIT_NOFILE, "nproc": resource.RLIMIT_NPROC}
        most = {name: min(resource.getrlimit(limit)[1], 4096) for name, limit in limits.items()}
        return self.podman("run", "--rm", *(f"--ulimit={name}={n}:{n}" for name, n in most.items()), *words)

    def make_bases(self) -> None:
        """The three images that the Dockerfile begins with; UnfitError where that cannot be done here."""
        try:
            self._make_debian(RECIPE.arguments["DEBIAN_IMAGE"])
            self._make_rust(RECIPE.arguments["RUST_IMAGE"])
            self._make_node(RECIPE.arguments["NODE_IMAGE"])
        except subprocess.CalledProcessError as error:
            raise UnfitError(f"{error.cmd[:4]}: {(error.stderr or '').strip()[-300:]}") from error

    def build(self, tag: str, *options: str) -> None:
        """Build the image from a clean checkout of what is committed."""
        checkout = self.folder / "checkout"
        if not checkout.exists():
            self._run(["git", "clone", "--quiet", str(ROOT), str(checkout)])
        recipe = checkout / "deploy/image/Dockerfile"
        ignore = f"--ignorefile={recipe}.dockerignore"
        how = ["--isolation=chroot", "--pull-never", "--layers", ignore, f"--file={recipe}"]
        self.buildah("build", *how, f"--tag={tag}", *options, str(checkout))

    def remove(self) -> None:
        """Leave nothing."""
        for what in (["rm", "--all"], ["rmi", "--all", "--force"]):
            subprocess.run(["buildah", *self.place(), *what], capture_output=True, check=False)
        subprocess.run(
            ["umount", "--recursive", self.folder / "storage/overlay"], capture_output=True, check=False
        )
        shutil.rmtree(self.folder, ignore_errors=True)

    def _make_debian(self, name: str) -> None:
        root = self.folder / "debian"
        self._run(["nice", "debootstrap", "--variant=minbase", "bookworm", str(root), MIRROR])
        for folder in (*LEFT_OUT, *EMPTY):
            shutil.rmtree(root / folder)
        for folder in EMPTY:
            (root / folder).mkdir()
        excluded = "".join(f"path-exclude /{folder}/*\n" for folder in LEFT_OUT)
        (root / "etc/dpkg/dpkg.cfg.d/docker").write_text(excluded)
        (root / "etc/apt/sources.list.d/security.list").write_text(SECURITY)
        container = self.buildah("from", "scratch")
        self.buildah("add", "--quiet", container, str(root), "/")
        self._commit(container, name)
        shutil.rmtree(root)

    def _make_rust(self, name: str) -> None:
        container = self.buildah("from", "--pull-never", RECIPE.arguments["DEBIAN_IMAGE"])
        packages = "gcc libc6-dev ca-certificates"
        install = f"apt-get -qq update && apt-get -qq install --yes --no-install-recommends {packages}"
        self.buildah("run", "--isolation=chroot", container, "sh", "-c", install)
        home = Path(self._run(["rustc", "--print", "sysroot"]))
        for folder in ("bin", "lib"):
            self.buildah("add", "--quiet", container, str(home / folder), f"{RUST_FOLDER}/{folder}")
        self._commit(
            container, name, f"PATH={RUST_FOLDER}/bin:/usr/sbin:/usr/bin:/sbin:/bin", *self._trust(container)
        )

    def _make_node(self, name: str) -> None:
        container = self.buildah("from", "--pull-never", RECIPE.arguments["DEBIAN_IMAGE"])
        npm = Path(str(shutil.which("npm"))).resolve().parents[1]
        self.buildah("add", "--quiet", container, str(shutil.which("node")), "/usr/local/bin/node")
        self.buildah("add", "--quiet", container, str(npm), "/usr/local/lib/node_modules/npm")
        link = ["ln", "--symbolic", "../lib/node_modules/npm/bin/npm-cli.js", "/usr/local/bin/npm"]
        self.buildah("run", "--isolation=chroot", container, *link)
        self._commit(container, name, *self._trust(container))

    def _trust(self, container: str) -> list[str]:
        """Settings by which package managers trust whom this machine trusts."""
        if not CERTIFICATES.exists():
            return []
        self.buildah("add", "--quiet", container, str(CERTIFICATES), str(CERTIFICATES))
        return [f"{name}={CERTIFICATES}" for name in TRUST]

    def _commit(self, container: str, name: str, *environment: str) -> None:
        self.buildah("config", *(f"--env={setting}" for setting in environment), container)
        self.buildah("commit", "--quiet", "--rm", container, name)

    def _run(self, line: Sequence[str]) -> str:
        scratch = self.folder / "tmp"
        scratch.mkdir(exist_ok=True)
        environment = {**os.environ, "TMPDIR": str(scratch)}
        done = subprocess.run(line, capture_output=True, text=True, check=True, env=environment)
        return done.stdout.strip()
