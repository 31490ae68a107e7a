from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.server.running_server import read_all, running, status_of

ROOT = Path(__file__).parents[2]


def test_it_speaks_http() -> None:
    with running() as server:
        answer = server.ask()
        assert status_of(answer) == 200 and answer.endswith(b'"pong"')
        assert b"server:" not in answer.lower().split(b"\r\n\r\n")[0]
        head = server.ask(begin="HEAD")
        assert status_of(head) == 200 and head.endswith(b"\r\n\r\n") and b"content-length: 6" in head.lower()


@pytest.mark.parametrize(
    ("request_text", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.0\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (b"GET http://127.0.0.1/ HTTP/1.1\r\nHost: HOST\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: HOST\r\nX: " + b"y" * 20000, 431),
        (b"GET /\xff HTTP/1.1\r\nHost: HOST\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost : HOST\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (
            b"GET / HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n",
            400,
        ),
        (b"GET / HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411),
        (b"GET / HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: x\r\n\r\n", 400),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00", 400),
    ],
)
def test_what_is_not_ours_is_refused(request_text: bytes, status: int) -> None:
    with running() as server:
        with server.connect() as connection:
            connection.sendall(request_text.replace(b"HOST", f"127.0.0.1:{server.port}".encode()))
            connection.shutdown(socket.SHUT_WR)
            answer = read_all(connection)
        assert status_of(answer) == status, answer
        if answer:
            assert b"content-security-policy" in answer.lower()
            assert json.loads(answer.split(b"\r\n\r\n")[1])["error"]["slug"] == "usage"
        assert status_of(server.ask()) == 200


def test_a_second_request_behind_a_refused_body_is_not_heard() -> None:
    smuggled = b"GET /api/ping HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with running() as server, server.connect() as connection:
        connection.sendall(server.request(headers=f"Content-Length: {len(smuggled)}\r\n") + smuggled)
        assert read_all(connection).count(b"HTTP/1.1 ") == 1


def test_requests_in_a_row_are_all_answered() -> None:
    with running() as server, server.connect() as connection:
        connection.sendall(server.request() * 20 + server.request(headers="Connection: close\r\n"))
        assert read_all(connection).count(b'"pong"') == 21


def test_an_upgrade_is_not_taken() -> None:
    with running() as server:
        headers = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n"
        with server.connect() as connection:
            connection.sendall(server.request(headers=headers))
            connection.shutdown(socket.SHUT_WR)
            assert status_of(read_all(connection)) == 200


STUCK = """
import time
from necroscope.agent.stop_signals import signals
from necroscope.server.connection_limits import Connections
from necroscope.server.listening import ListenConfig, open_listener
from necroscope.server.openapi import new_app
from necroscope.server.serving import serve
from necroscope.server.work import Work
from tests.server.asgi_client import app_with
from necroscope.server.origin_policy import names_of

routes, work = new_app(), Work()

@routes.get("/api/stuck")
async def stuck() -> None:
    await work.ask(lambda: time.sleep(1000))

with signals() as asked, open_listener(ListenConfig("127.0.0.1", 0), Connections()) as listener:
    port = listener.getsockname()[1]
    print(port, flush=True)
    names = names_of(port, [], loopback=True, is_behind_proxy=False)
    serve(app_with(routes, names=names), listener, None, asked.when_stopped)
"""


def test_questions_that_are_stuck_do_not_hold_up_the_end() -> None:
    process = subprocess.Popen([sys.executable, "-c", STUCK], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        assert process.stdout
        port = int(process.stdout.readline())
        clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(5)]
        for client in clients:
            client.sendall(f"GET /api/stuck HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        time.sleep(0.5)
        process.terminate()
        assert process.wait(10) == 0
        assert [status_of(read_all(client)) for client in clients] == [503] * 5, "and they are told"
    finally:
        process.kill()
        process.wait()
