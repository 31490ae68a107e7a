from __future__ import annotations

import http.client
import json
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from necroscope.server.one_file import page_file
from tests.cli.conftest import PROGRAM, Document, Run
from tests.server.one_file.built_page import built_page, embedded
from tests.server.questions.sampled_store import BEGIN_US, sampled_store

TOKEN = "a-token-of-more-than-24-characters"


@contextmanager
def serving(store: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The program as a user starts it, and the port that it says."""
    command = [str(PROGRAM), "serve", "--listen", "127.0.0.1:0", "--store", str(store), *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr
        said = process.stderr.readline()
        found = re.fullmatch(r"necroscope: the page is at https?://127\.0\.0\.1:(\d+)/.*\n", said)
        assert found, said + process.stderr.read()
        yield process, int(found[1])
    finally:
        process.kill()
        process.communicate()


def get(port: int, target: str, headers: dict[str, str] | None = None) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request("GET", target, headers=headers or {})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_until_it_is_stopped(tmp_path: Path, number: signal.Signals) -> None:
    with serving(tmp_path) as (process, port):
        status, body = get(port, "/api/hosts")
        assert (status, json.loads(body)["hosts"]) == (200, []), "an empty store is no error"
        process.send_signal(number)
        out, err = process.communicate(timeout=10)
        assert (process.returncode, err) == (0, "")
        assert f"1 request answered at http://127.0.0.1:{port}/" in out


def test_json_is_one_object(tmp_path: Path) -> None:
    with serving(tmp_path, "--json") as (process, port):
        process.terminate()
        body = json.loads(process.communicate(timeout=10)[0])
        assert (body["verb"], body["requests"]) == ("serve", 0)
        assert body["address"] == f"http://127.0.0.1:{port}/"


def test_with_a_token(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(TOKEN)
    file.chmod(0o600)
    with serving(tmp_path / "store", "--token-file", str(file)) as (_, port):
        assert get(port, "/api/hosts")[0] == 401
        assert get(port, "/api/hosts", {"Authorization": f"Bearer {TOKEN}"})[0] == 200


def test_another_name(tmp_path: Path) -> None:
    with serving(tmp_path, "--allow-host", "necro.example:80") as (_, port):
        assert get(port, "/api/hosts", {"Host": "necro.example:80"})[0] == 200
        assert get(port, "/api/hosts", {"Host": "other.example:80"})[0] == 403


def test_a_port_in_use(document: Document, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        where = f"127.0.0.1:{other.getsockname()[1]}"
        error = document("serve", "--listen", where, "--store", tmp_path, exit_code=3)["error"]
        assert error["slug"] == "cannot-listen" and "already in use" in error["what"]


@pytest.mark.parametrize(
    "words",
    [
        ["--listen", "0.0.0.0:0"],
        ["--listen", "[::]:0"],
        ["--listen", ":0"],
        ["--listen", "127.0.0.1"],
        ["--behind-proxy"],
        ["--certificate", "/nonexistent"],
        ["--token-file", "/nonexistent"],
    ],
)
def test_what_is_not_safe_is_refused(necroscope: Run, tmp_path: Path, words: list[str]) -> None:
    done = necroscope("serve", "--store", tmp_path, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(page_file, "STATIC", built_page(tmp_path / "static"))
    sampled_store(tmp_path / "store")
    return tmp_path / "store"


def test_it_writes_all_that_there_is(document: Document, store: Path, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    body = document("serve", "--store", store, "-o", file)
    content = file.read_bytes()
    assert (body["written"], body["bytes"], body["host"]) == (str(file), len(content), "node-17")
    assert body["left_out"] and embedded(content)['["hosts"]']["hosts"][0]["begin_us"] == BEGIN_US


def test_a_range(necroscope: Run, store: Path, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    words = ("-b", "2026-04-15T10:00:30Z", "-e", "2026-04-15T10:01:00Z", "--host", "node-17")
    done = necroscope("serve", "--store", store, "-o", file, *words)
    assert done.returncode == 0 and "node-17, from 2026-04-15T10:00:30" in " ".join(done.stdout.split())
    assert f'["diagnosis",{BEGIN_US + 30_000_000},{BEGIN_US + 60_000_000}]' in embedded(file.read_bytes())


def test_a_file_is_not_overwritten_unless_told(necroscope: Run, store: Path, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text("mine")
    assert necroscope("serve", "--store", store, "-o", file).returncode == 2 and file.read_text() == "mine"
    assert necroscope("serve", "--store", store, "-o", file, "-f").returncode == 0


def test_what_cannot_be_written_is_said(
    necroscope: Run, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "page.html"
    assert necroscope("serve", "--store", tmp_path / "none", "-o", file).returncode == 3
    monkeypatch.setattr(page_file, "STATIC", tmp_path / "not-built")
    done = necroscope("serve", "--store", store, "-o", file)
    assert done.returncode == 2 and "make web" in done.stderr and not file.exists()
