"""Shipping to a real S3, killed, without it, or refused: nothing is lost or comes twice, and all is told."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="needs pyarrow: make fleet")

from pyarrow.fs import FileType

from necroscope.fleet.ship.spool import Spool
from tests.fleet.seaweed import ADMIN, Seaweed, host_identity, needs_seaweed, seaweed
from tests.fleet.ship.stores import add_segments, check_objects
from tests.stored import BOOT_ID, HOST

pytestmark = [pytest.mark.servers, needs_seaweed]
KILLS = 50
FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seaweed]:
    """One server for all; every test has its own prefix."""
    identities = (ADMIN, host_identity(HOST, prefix="limited"), host_identity("other", prefix="limited"))
    with seaweed(tmp_path_factory.mktemp("s3"), identities) as server:
        server.make_bucket()
        yield server


class Ship:
    """`fleet ship` of one store to one prefix."""

    def __init__(self, store: Path, s3: Seaweed, prefix: str, *words: str) -> None:
        self._s3, self._prefix = s3, prefix
        self._words = ["--store", str(store), "--host", HOST, "--config", "/dev/null", *words]

    def start(self, address: str = "", **environment: str) -> subprocess.Popen[str]:
        """Begin; somebody may kill it."""
        place = address or self._s3.address(prefix=self._prefix)
        return subprocess.Popen(
            [sys.executable, "-m", "necroscope", "fleet", "ship", "--json", "--fleet", place, *self._words],
            env={**os.environ, **self._s3.environment(), **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def run(self, address: str = "", **environment: str) -> tuple[int, dict[str, Any]]:
        """All of it."""
        with self.start(address, **environment) as process:
            answer, _ = process.communicate(timeout=120)
        return process.returncode, json.loads(answer)

    def arrived(self) -> dict[str, Any]:
        """What is in the bucket, checked."""
        objects = self._s3.objects(prefix=self._prefix)
        return check_objects({key.removeprefix(f"{self._prefix}/"): value for key, value in objects.items()})


def all_of(count: int) -> int:
    """Parts: every segment, and every one whole."""
    return 2 * count


def test_killed_at_fifty_random_moments(tmp_path: Path, s3: Seaweed) -> None:
    """While it imports, stages and sends, with new segments all the time."""
    ship = Ship(tmp_path, s3, "killed", "--profiles", "all")
    rng = random.Random(10)
    begin = time.monotonic()
    add_segments(tmp_path, 2, {1: "nic-reset"})
    assert ship.run()[0] == 0
    whole_seconds = time.monotonic() - begin
    at_work = in_the_middle = 0
    for number in range(KILLS):
        if number % 2 == 0:
            add_segments(tmp_path, 2, begin=2 + number)
        began = time.monotonic()
        with ship.start() as process:
            with suppress(subprocess.TimeoutExpired):
                process.wait(rng.uniform(0, 1.3 * whole_seconds))
                whole_seconds = time.monotonic() - began  # other tests come and go beside this one
            process.kill()
        at_work += process.returncode == -signal.SIGKILL
        in_the_middle += bool(Spool(tmp_path / HOST).waiting())
    assert at_work > KILLS // 2, "most of them were at work"
    assert in_the_middle >= 5, "and not all of them before they had begun"
    code, body = ship.run()
    assert (code, body["waiting"], body["problems"]) == (0, 0, [])
    parts = ship.arrived()
    assert len(parts) == all_of(2 + KILLS)
    assert parts == _truth(tmp_path, s3, "killed-truth")
    assert not list((tmp_path / HOST / ".ship/blobs").iterdir())


def _truth(store: Path, s3: Seaweed, prefix: str) -> dict[str, Any]:
    """The same store, shipped to another prefix without being killed."""
    ship = Ship(store, s3, prefix, "--profiles", "all")
    assert ship.run()[0] == 0
    return ship.arrived()


def outage(tmp_path: Path, s3: Seaweed, seconds: float, every: float, prefix: str) -> None:
    """The store goes and comes back, while segments keep coming."""
    ship = Ship(tmp_path, s3, prefix, "--profiles", "all", "--spool", "1MiB")
    add_segments(tmp_path, 1)
    assert ship.run()[0] == 0
    s3.stop()
    end, made, given_up = time.monotonic() + seconds, 1, 0
    while time.monotonic() < end:
        add_segments(tmp_path, 2, begin=made)
        made += 2
        code, body = ship.run()
        assert (code, body["error"]["slug"]) == (3, "fleet-place")
        assert "it is away" in body["error"]["what"]
        assert body["waiting_bytes"] <= 1 << 20, "the spool keeps to its budget"
        given_up += len(body["given_up"])
        time.sleep(every)
    s3.start()
    code, body = ship.run()
    assert (code, body["waiting"]) == (0, 0)
    parts = ship.arrived()
    assert sum(name.startswith("segment-") for name in parts) == made
    assert len(parts) == all_of(made) - given_up, "all that was not given up and told has arrived"


def test_the_store_is_away_for_a_while(tmp_path: Path, s3: Seaweed) -> None:
    outage(tmp_path, s3, 20, 1.0, "outage")


REFUSALS = {
    "secret": ({"AWS_SECRET_ACCESS_KEY": "nonsense"}, "the secret key is wrong", "AWS_SECRET_ACCESS_KEY"),
    "key": ({"AWS_ACCESS_KEY_ID": "stranger"}, "the access key is not known", "AWS_ACCESS_KEY_ID"),
    "nobody": ({"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, "denied access", "AWS_ACCESS_KEY_ID"),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSALS)
def test_wrong_credentials(tmp_path: Path, s3: Seaweed, kind: str) -> None:
    environment, what, hint = REFUSALS[kind]
    ship = Ship(tmp_path, s3, f"refused-{kind}")
    add_segments(tmp_path, 2)
    code, body = ship.run(**environment)
    assert (code, body["ok"], body["sent"], body["waiting"]) == (3, False, 0, 2)
    assert what in body["error"]["what"]
    assert hint in body["error"]["hint"]
    assert "nonsense" not in json.dumps(body)
    assert ship.run()[0] == 0
    assert len(ship.arrived()) == 2


def test_no_such_bucket(tmp_path: Path, s3: Seaweed) -> None:
    add_segments(tmp_path, 2)
    for profiles in ("events", "never"):  # which asks for requests before it writes, or only writes
        ship = Ship(tmp_path, s3, "bucket", "--profiles", profiles)
        code, body = ship.run(s3.address("nobody-made-it"))
        assert (code, body["waiting"]) == (3, 2)
        assert "there is no bucket 'nobody-made-it'" in body["error"]["what"]
    assert s3.files().get_file_info("nobody-made-it").type == FileType.NotFound, "and we do not make it"
    assert ship.run()[0] == 0
    assert len(ship.arrived()) == 2


@pytest.mark.skipif(not FAKETIME.exists(), reason="needs libfaketime: scripts/system-packages faketime")
@pytest.mark.parametrize(("offset", "way"), [("-1h", "behind"), ("+90m", "ahead of")])
def test_a_clock_that_is_wrong_by_an_hour(tmp_path: Path, s3: Seaweed, offset: str, way: str) -> None:
    """SeaweedFS says RequestTimeTooSkewed; the SDK sets its own time right in silence; we do not."""
    ship = Ship(tmp_path, s3, f"skew{offset[1:]}")
    add_segments(tmp_path, 3)
    wrong = {"LD_PRELOAD": str(FAKETIME), "FAKETIME": offset, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    for _ in range(2):
        code, body = ship.run(**wrong)
        assert (code, body["sent"], body["waiting"]) == (3, 0, 3)
        assert f"this host's clock is 1 h {0 if offset == '-1h' else 30} min {way}" in body["error"]["what"]
        assert "chronyc" in body["error"]["hint"]
    assert ship.run()[0] == 0
    assert len(ship.arrived()) == 3


def test_credentials_of_one_host_are_for_its_own_prefix(tmp_path: Path, s3: Seaweed) -> None:
    ship = Ship(tmp_path, s3, "limited", "--profiles", "all")
    segments = add_segments(tmp_path, 2)
    code, body = ship.run(**s3.environment("other"))
    assert (code, body["sent"], body["waiting"]) == (3, 0, 4)
    assert "denied access" in body["error"]["what"]
    assert "own prefix" in body["error"]["hint"]
    code, body = ship.run(**s3.environment(HOST))
    assert (code, body["sent"]) == (0, 4)
    assert f"segment-{segments[0].folder.name}-{BOOT_ID[:8]}" in ship.arrived()


def test_a_request_over_s3(tmp_path: Path, s3: Seaweed) -> None:
    ship = Ship(tmp_path, s3, "limited")
    segments = add_segments(tmp_path, 1, begin=30)
    begin = str(segments[0].begin_ns // 10**9)
    words = ["request", HOST, "-b", begin, "--fleet", s3.address(prefix="limited"), "--config", "/dev/null"]
    command = [sys.executable, "-m", "necroscope", "fleet", *words]
    subprocess.run(command, env={**os.environ, **s3.environment()}, check=True, stdout=subprocess.DEVNULL)
    assert ship.run(**s3.environment(HOST))[0] == 0
    objects = s3.objects(prefix="limited")
    assert not [key for key in objects if "/requests/" in key]
    assert [key for key in objects if f"files-{segments[0].folder.name}" in key]


def test_nobody_answers(tmp_path: Path, s3: Seaweed) -> None:
    """No name, no TLS: both are told within seconds."""
    add_segments(tmp_path, 1)
    ship = Ship(tmp_path, s3, "nobody")
    port = s3.ports["s3"]
    for endpoint, what in (
        ("http://no-such-host.invalid", "its name is not known"),
        (f"https://127.0.0.1:{port}", "no trust by TLS"),
        ("http://127.0.0.1:1", "it is away"),
    ):
        code, body = ship.run(f"s3://fleet?endpoint={endpoint}")
        assert (code, body["waiting"]) == (3, 1)
        assert what in body["error"]["what"]
