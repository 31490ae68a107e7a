"""Machines to read from: small trees of files, and files that are refused."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from necroscope.sources.host import Host
from tests.sources.fake_systemd import OK, Answer, FakeSystemd

# A file's text or bytes; a Path is what a symbolic link says; None is an empty folder.
Content = str | bytes | Path | None
Tree = Callable[[Mapping[str, Content]], Host]
Deny = Callable[[str], None]
StartSystemd = Callable[..., FakeSystemd]


@pytest.fixture(autouse=True)
def loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test may ask a metadata service, or anybody else outside this machine."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        is_sent = self.family != socket.AF_UNIX and self.type != socket.SOCK_DGRAM
        if is_sent and address[0] not in ("127.0.0.1", "::1"):
            pytest.fail(f"a test wanted to connect to {address}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)
    for name in ("AWS_EC2_METADATA_SERVICE_ENDPOINT", "GCE_METADATA_HOST", "AZURE_METADATA_SERVICE_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    for name in ("NODE_NAME", "NECROSCOPE_LABELS"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_EC2_METADATA_DISABLED", "NO_GCE_CHECK", "AZURE_METADATA_DISABLED"):
        monkeypatch.setenv(name, "true")


def write_tree(root: Path, files: Mapping[str, Content]) -> Host:
    for name, content in files.items():
        path = root / name.lstrip("/")
        (path if content is None else path.parent).mkdir(parents=True, exist_ok=True)
        if isinstance(content, Path):
            path.symlink_to(content)
        elif content is not None:
            path.write_bytes(content.encode() if isinstance(content, str) else content)
    return Host(root)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """Write files below a root of their own, and see them as a host."""
    return partial(write_tree, tmp_path)


@pytest.fixture
def deny(monkeypatch: pytest.MonkeyPatch) -> Deny:
    """Refuse to open files and to list folders whose path ends so. Simulated: root may open anything."""
    denied: list[str] = []

    def refuse(name: str, call: Callable[..., Any]) -> None:
        def guarded(path: Any = ".", *arguments: Any, **options: Any) -> Any:
            # A file below a root is opened by its descriptor.
            place = str(Path(path).readlink()) if str(path).startswith("/proc/self/fd/") else str(path)
            if any(place.endswith(ending) for ending in denied):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
            return call(path, *arguments, **options)

        monkeypatch.setattr(os, name, guarded)

    refuse("open", os.open)
    refuse("listdir", os.listdir)
    return denied.append


@pytest.fixture
def start_systemd(tmp_path: Path) -> Iterator[StartSystemd]:
    """Start a systemd at its private socket, or behind the socket of a bus, below tmp_path."""
    started: list[FakeSystemd] = []

    def start(answer: Answer, *, auth: bytes = OK, door: str = "run/systemd/private") -> FakeSystemd:
        started.append(FakeSystemd(tmp_path / door, answer, auth))
        return started[-1]

    yield start
    for systemd in started:
        systemd.close()
