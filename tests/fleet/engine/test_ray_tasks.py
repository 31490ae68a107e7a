"""What of the Ray engine needs no cluster: how work is divided, what errors say, that none is started."""

from __future__ import annotations

import io
import socket
import sys
import threading

import pytest

from necroscope.errors import ClusterError, UsageError
from necroscope.fleet.engine import ray_errors
from necroscope.fleet.engine.ray_connection import check_address
from necroscope.fleet.engine.ray_tasks import (
    LEAST_CHUNK_BYTES,
    chunks_of_files,
    silent_threads,
    told_progress,
)
from necroscope.fleet.engine.ray_work import code_digest, missing_packages
from necroscope.fleet.tables.index import TableFile

MIB = 1 << 20


def file(number: int, size: int) -> TableFile:
    return TableFile("segments", f"20261118T{number:02d}", f"tables/{number}", 1, size, "")


def test_chunks_have_all_files_in_their_order() -> None:
    files = [file(number, (number % 5 + 1) * MIB) for number in range(40)]
    chunks = chunks_of_files(files, 12)
    assert [one for chunk in chunks for one in chunk] == files
    assert 12 <= len(chunks) <= 24
    assert all(chunks)


def test_little_is_read_by_few() -> None:
    files = [file(number, 100) for number in range(40)]
    assert chunks_of_files(files, 100) == [files]
    large = [file(number, 2 * LEAST_CHUNK_BYTES) for number in range(3)]
    assert chunks_of_files(large, 100) == [[one] for one in large]


@pytest.mark.parametrize(
    "address", ["", "local", "head", "ray://head", "http://head:8265", "head:6379:1", "a b:1"]
)
def test_what_is_no_address_would_start_a_cluster_or_worse(address: str) -> None:
    with pytest.raises(UsageError, match="not the address of a Ray cluster"):
        check_address(address)


@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_nobody_there(scheme: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(ClusterError, match="refused") as raised:
        check_address(f"{scheme}127.0.0.1:{port}")
    assert "ray://HOST:10001" in raised.value.hint
    with pytest.raises(ClusterError):
        check_address(f"{scheme}127.0.0.1:99999")


@pytest.mark.parametrize(
    ("said", "what"),
    [
        ("ConnectionError: Failed\nAuthenticationError: RPC error: InvalidAuthToken", "wants a token"),
        ("UNAUTHENTICATED: Invalid or missing authentication token", "wants a token"),
        ("RuntimeError: Version mismatch: The cluster was started with: Ray: 2.9", "another Ray or Python"),
        ("ConnectionError: Could not find any running Ray instance.", "no Ray cluster runs on this machine"),
        ("UNIMPLEMENTED: ", "no Ray cluster answers there"),
        ("RpcError: Timed out while waiting for GCS to become available.", "no Ray cluster answers there"),
        ("ValueError: something else " + "x" * 1000, "something else"),
    ],
)
def test_what_ray_says_in_words(said: str, what: str) -> None:
    error = ray_errors.cluster_error("head:6379", said)
    assert what in error.what
    assert len(error.what) < 400
    assert error.hint


def test_our_code_and_packages_are_here() -> None:
    assert len(code_digest()) == 64
    assert missing_packages() == []


def test_what_other_threads_print_is_no_part_of_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    with silent_threads():
        other = threading.Thread(target=sys.stdout.write, args=["(raylet) Raylet is terminated\n"])
        other.start()
        other.join()
        sys.stdout.write("the answer\n")
        sys.stdout.flush()
    assert capsys.readouterr().out == "the answer\n"


def test_progress_is_for_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with told_progress("reading") as tell:
        tell(1, 2)
    assert stream.getvalue() == ""
    monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with told_progress("reading") as tell:
        tell(1, 2)
    assert "reading: 1 of 2" in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[K")
