"""A pod keeps the recorder's port busy, so that the kubelet restarts the recorder every five minutes.

The liveness probe asked /healthz, which eight half-open connections blocked.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from lab.recorders import Recorder, recording, wait_until
from tests.security.test_connections import HALF, MOST_CONNECTIONS, ask

MANIFEST = Path(__file__).parents[2] / "deploy/kubernetes/daemon-sets/minimal/daemon-set.yaml"
DEAD_SECONDS = 130.0  # as old as no heartbeat may be


@dataclass(frozen=True)
class Node:
    """A recorder with the shipped arguments for its heartbeat, and the shipped probe."""

    recorder: Recorder
    heartbeat: Path
    probe: tuple[str, ...]

    def is_alive(self) -> bool:
        return subprocess.run(self.probe, check=False, capture_output=True).returncode == 0

    def grow_old(self) -> None:
        before = time.time() - DEAD_SECONDS
        os.utime(self.heartbeat, (before, before))


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    pod = yaml.safe_load(MANIFEST.read_text())["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    (shipped,) = [word for word in container["args"] if word.startswith("--heartbeat=")]
    file = tmp_path / "heartbeat"
    option = f"--heartbeat={file}"
    probe = container["livenessProbe"]["exec"]["command"]
    words = tuple(word.replace(shipped.partition("=")[2], str(file)) for word in probe)
    with recording(tmp_path / "store", "--rate=0", "--listen=127.0.0.1:0", option, samples=False) as recorder:
        yield Node(recorder, file, words)


def test_half_open_connections_do_not_make_it_look_dead(node: Node) -> None:
    found = re.search(r"metrics on port (\d+)", node.recorder.said())
    assert found
    port = int(found[1])
    with ExitStack() as stack:
        for _ in range(2 * MOST_CONNECTIONS):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=5))
            client.sendall(HALF)
        assert node.is_alive()
        node.grow_old()
        wait_until(node.is_alive, 5, "a heartbeat of a recorder whose port is busy")
        assert ask(port, "/healthz") == (200, "ok\n")
        assert "necroscope_recorder_moments_total" in ask(port, "/metrics")[1]


def test_a_recorder_that_hangs_looks_dead(node: Node) -> None:
    assert node.is_alive()
    node.recorder.process.send_signal(signal.SIGSTOP)
    try:
        time.sleep(0.5)
        node.grow_old()
        time.sleep(2.5)
        assert not node.is_alive()
    finally:
        node.recorder.process.send_signal(signal.SIGCONT)
    wait_until(node.is_alive, 5, "a heartbeat of a recorder that goes on")
