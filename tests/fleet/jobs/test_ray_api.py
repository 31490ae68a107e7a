from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from necroscope.errors import ClusterError
from necroscope.fleet.engine.ray_token import RAY_HINT, ray_token
from necroscope.fleet.jobs.ray_api import RayCluster, read_cluster
from necroscope.fleet.jobs.ray_rows import parse_jobs, parse_nodes, parse_summary
from necroscope.fleet.jobs.web_api import WebApi
from tests.fleet.jobs.answers import TOKEN, Said, as_recorded, recorded, serving

NOW_MS = 1_794_970_000_000
HEAD, WORKER = recorded("nodes.json")["data"]["result"]["result"][::-1]
AN_HOUR = (1_794_967_000_000_000, 1_794_970_000_000_000)


def api_of(address: str, token: Callable[[], str] = str, **options: Any) -> WebApi:
    return WebApi(address, token, RAY_HINT, **options)


def ask(address: str, token: Callable[[], str] = str) -> RayCluster:
    return read_cluster(api_of(address, token), *AN_HOUR)


def test_jobs_know_their_nodes_and_their_last_words() -> None:
    with serving() as server:
        cluster = ask(server.address)
    assert cluster.notes == ()
    by_id = {ran.job.id: ran for ran in cluster.jobs}
    both = {HEAD["node_id"], WORKER["node_id"]}
    assert {*by_id["fine"].nodes} == {*by_id["lost"].nodes} == {*by_id["losttask"].nodes} == both
    assert {*by_id["exit3"].nodes} == {HEAD["node_id"]}  # it never spoke to Ray
    assert by_id["own"].message.startswith("task: TASK_EXECUTION_EXCEPTION\n")
    assert "KeyError: 'loss'" in by_id["own"].message
    assert "NodeDiedError" in by_id["losttask"].message  # Ray's own message has lost it
    assert by_id["fine"].message == ""
    assert by_id["missing"].job.exit_code == 127


def test_a_driver_that_was_not_submitted_has_ended_we_do_not_know_how() -> None:
    with serving() as server:
        driver = next(ran for ran in ask(server.address).jobs if not ran.job.submitted)
    assert driver.job.status == "ENDED"
    assert driver.job.id == "02000000-20261118T022222Z"  # numbers begin again with the cluster
    assert driver.job.driver_address == "192.0.2.2"
    assert WORKER["node_id"] in driver.nodes


def test_nodes_have_all_their_names() -> None:
    with serving() as server:
        nodes = {node.name: node for node in ask(server.address).nodes}
    assert nodes["worker-a"].host_name == "vm"
    assert nodes["worker-a"].end_ms == 1_794_968_593_452
    assert nodes["192.0.2.2"].end_ms is None


def test_only_jobs_of_the_range_are_asked_about() -> None:
    with serving() as server:
        assert read_cluster(api_of(server.address), 0, 1000).asked == frozenset()
        assert {path.partition("?")[0] for path, _ in server.asked} == {
            "/api/jobs/",
            "/api/v0/nodes",
            "/nodes",
        }


@pytest.mark.parametrize("gone", ["/api/v0/nodes", "/nodes?", "/api/v0/tasks", "/api/v0/actors", "/logs"])
@pytest.mark.parametrize(
    "instead",
    [
        Said(b"404: Not Found", 404, "text/plain"),
        Said(b"boom", 500, "text/plain"),
        Said(b'{"result": false, "msg": "Failed to query", "data": {"result": null}}'),
        Said(b"[]"),
        Said(b'{"data": {"result": {"result": [17, null, {"node_id": 5}], "num_filtered": 3}}}'),
    ],
)
def test_a_state_api_that_fails_is_told_and_not_fatal(gone: str, instead: Said) -> None:
    with serving(lambda path: instead if gone in path else as_recorded(path)) as server:
        cluster = ask(server.address)
    assert len(cluster.jobs) == 8
    if instead.status != 200 and gone != "/logs":  # without a log there is Ray's own message
        assert any("not known" in note for note in cluster.notes)
    own = next(ran for ran in cluster.jobs if ran.job.id == "own")
    assert "KeyError" in own.message


def test_more_tasks_than_are_told_is_noted() -> None:
    def say(path: str) -> Said:
        said = as_recorded(path)
        if "/tasks" not in path:
            return said
        document = json.loads(said.content)
        document["data"]["result"]["num_filtered"] = 25_000
        return Said(json.dumps(document).encode())

    with serving(say) as server:
        notes = ask(server.address).notes
    assert notes == ("some jobs have more than 10000 tasks: not all of their nodes may be known",)


# --- tokens


def test_the_token_is_sent_and_nothing_else_is_needed() -> None:
    with serving(token=TOKEN) as server:
        assert len(ask(server.address, lambda: TOKEN).jobs) == 8
        assert {given for _, given in server.asked} == {f"Bearer {TOKEN}"}


@pytest.mark.parametrize(
    ("token", "words"), [("", "wants a token"), ("wrong-one", "does not accept our token")]
)
def test_without_the_right_token(token: str, words: str) -> None:
    with serving(token=TOKEN) as server, pytest.raises(ClusterError, match=words) as caught:
        ask(server.address, lambda: token)
    assert "--token-file" in caught.value.hint
    assert not token or token not in f"{caught.value.what}{caught.value.hint}"


def test_where_a_token_is_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert ray_token(None)() == ""
    usual = tmp_path / ".ray" / "auth_token"
    usual.parent.mkdir()
    usual.write_text("usual\n")
    assert ray_token(None)() == "usual"
    (tmp_path / "path").write_text("of-path\n")
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(tmp_path / "path"))
    assert ray_token(None)() == "of-path"
    monkeypatch.setenv("RAY_AUTH_TOKEN", "of-environment")
    assert ray_token(None)() == "of-environment"
    named = tmp_path / "named"
    named.write_text("named")
    find = ray_token(named)
    assert find() == "named"
    named.write_text("renewed")
    assert find() == "renewed"
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    assert ray_token(None)() == ""


# --- servers that are none


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (Said(b"<!doctype html><html>", kind="text/html"), "text/html, not JSON"),
        (Said(b'[{"type": "SUBMISSION", "job_'), "cut or damaged"),
        (Said(b"[" * 200_000), "cut or damaged"),
        (Said(b"[]", announced=500), "in the middle of an answer"),
        (Said(b"{}"), "no list of jobs"),
        (Said(b"404: Not Found", 404, "text/plain"), "is not there"),
        (Said(b"", 302, location="http://127.0.0.1:1/"), "leads elsewhere"),
        (Said(b"Bad Gateway", 502, "text/plain"), "502: Bad Gateway"),
    ],
)
def test_answers_that_are_none(said: Said, words: str) -> None:
    with serving(lambda _: said) as server, pytest.raises(ClusterError, match=words) as caught:
        ask(server.address)
    assert caught.value.hint
    assert len(server.asked) == 1  # a redirection is not followed with a token


def test_a_huge_answer_is_not_read() -> None:
    with serving(lambda _: Said(b"[" + b" " * 300_000 + b"]")) as server:
        api = api_of(server.address, max_bytes=100_000)
        with pytest.raises(ClusterError, match="more than"):
            api.get("/api/jobs/")


def test_a_server_that_never_ends() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def drip() -> None:
            peer, _ = listening.accept()
            with peer:
                peer.recv(1000)
                peer.sendall(b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n")
                try:
                    for _ in range(200):
                        peer.sendall(b" ")
                        ended.wait(0.02)
                except OSError:
                    return

        ended = threading.Event()
        thread = threading.Thread(target=drip)
        thread.start()
        try:
            api = api_of(f"http://127.0.0.1:{listening.getsockname()[1]}", timeout_seconds=0.1)
            with pytest.raises(ClusterError, match=r"did not answer in full within 0\.4 s"):
                api.get("/api/jobs/")
        finally:
            ended.set()
            thread.join()


def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(ClusterError, match="refused") as caught:
        ask(f"http://127.0.0.1:{port}")
    assert "is the server up" in caught.value.hint
    with pytest.raises(ClusterError, match=r"certificate|SSL|ssl|WRONG"), serving() as server:
        ask(server.address.replace("http:", "https:"))


# --- odd fields


def test_odd_rows_are_left_out_and_odd_fields_are_unknown() -> None:
    rows = [
        None,
        7,
        {},
        {"submission_id": None, "job_id": None},
        {"submission_id": "a", "status": 5, "start_time": "soon", "end_time": True, "driver_exit_code": "1"},
        {"submission_id": "b", "status": "failed", "end_time": NOW_MS + 30 * 86_400_000, "message": ["x"]},
        {
            "submission_id": "c",
            "status": "FAILED",
            "end_time": str(NOW_MS),
            "start_time": -5,
            "driver_info": "x",
        },
        {"submission_id": "d", "status": "FAILED", "end_time": float("1e300"), "driver_exit_code": 2**40},
    ]
    a, b, c, d = parse_jobs(rows, NOW_MS)
    assert (a.status, a.begin_ms, a.end_ms, a.exit_code) == ("", None, None, None)
    assert (b.status, b.end_ms, b.message) == ("FAILED", None, "")  # a time in the future is none
    assert (c.end_ms, c.begin_ms, c.driver_address) == (NOW_MS, None, "")
    assert (d.end_ms, d.exit_code) == (None, None)


def test_nodes_and_names_that_are_odd() -> None:
    rows = [{"node_id": ""}, {"node_id": "n", "node_ip": None, "end_time_ms": 0}]
    (node,) = parse_nodes({"data": {"result": {"result": rows}}}, NOW_MS)
    assert (node.id, node.address, node.end_ms) == ("n", "", None)
    assert parse_summary({"data": {"summary": [None, {"raylet": 5}, {"raylet": {"nodeId": "n"}}]}}) == {
        "n": ("", "")
    }
    assert parse_summary(None) == {}
