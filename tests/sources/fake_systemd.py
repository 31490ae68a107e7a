"""A systemd that lets clients in, or not, and answers as a test tells it to."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from jeepney import HeaderFields, Message, Parser, new_error, new_method_return

OK = b"OK 0123456789abcdef0123456789abcdef\r\n"
# What to say: messages, nothing, or bytes and then hang up.
Answer = Callable[[Message], Message | list[Message] | bytes | None]
# (unit, description, load, active, sub, following, path, job, job type, job path)
Row = tuple[str, str, str, str, str, str, str, int, str, str]


def row(name: str, active: str, sub: str, load: str = "loaded") -> Row:
    return (name, f"the {name}", load, active, sub, "", path_of(name), 0, "", "/")


def path_of(name: str) -> str:
    return f"/org/freedesktop/systemd1/unit/{name.replace('.', '_2e').replace('-', '_2d')}"


def answer_from(
    rows: Sequence[Row] = (), properties: Mapping[tuple[str, str], tuple[str, Any]] | None = None
) -> Callable[[Message], Message]:
    """What a systemd answers that has these units, and these typed values by (unit, property)."""
    values = {(path_of(unit), name): value for (unit, name), value in (properties or {}).items()}

    def answer(question: Message) -> Message:
        fields = question.header.fields
        if fields[HeaderFields.member] == "Hello":
            return new_method_return(question, "s", (":1.7",))
        if fields[HeaderFields.member] == "ListUnitsByPatterns":
            return new_method_return(question, "a(ssssssouso)", (list(rows),))
        value = values.get((fields[HeaderFields.path], question.body[1]))
        if value is None:
            return new_error(question, "org.freedesktop.DBus.Error.UnknownProperty", "s", ("unknown",))
        return new_method_return(question, "v", (value,))

    return answer


PATIENCE_SECONDS = 20.0


class FakeSystemd:
    """Serves one client after the other, and answers what was asked in one breath back to front."""

    def __init__(self, door: Path, answer: Answer, auth: bytes) -> None:
        self.asked: list[str] = []  # methods
        self.most_at_once = 0
        self._answer = answer
        self._auth = auth
        self._serials = count(1)
        self._listener = socket.socket(socket.AF_UNIX)
        door.parent.mkdir(parents=True)
        self._listener.bind(str(door))
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with client:
                client.settimeout(PATIENCE_SECONDS)  # of a test that failed before it hung up
                try:
                    self._talk(client, self._let_in(client))
                except OSError:  # the client lost patience
                    continue

    def _let_in(self, client: socket.socket) -> bytes:
        said = b""
        while b"\r\n" not in said:
            said += _receive(client)
        user = str(os.geteuid()).encode().hex().encode()
        client.sendall(self._auth if said.startswith(b"\0AUTH EXTERNAL " + user + b"\r\n") else b"ERROR\r\n")
        while b"BEGIN\r\n" not in said:
            said += _receive(client)
        return said.partition(b"BEGIN\r\n")[2]

    def _talk(self, client: socket.socket, data: bytes) -> None:
        parser = Parser()
        while True:
            parser.add_data(data)
            breath = list(iter(parser.get_next_message, None))
            self.most_at_once = max(self.most_at_once, len(breath))
            self.asked += [str(message.header.fields[HeaderFields.member]) for message in breath]
            for message in reversed(breath):
                answer = self._answer(message)
                if isinstance(answer, bytes):
                    client.sendall(answer)
                    return
                for one in [answer] if isinstance(answer, Message) else answer or []:
                    client.sendall(one.serialise(serial=next(self._serials)))
            data = _receive(client)


def _receive(client: socket.socket) -> bytes:
    data = client.recv(1 << 16)
    if not data:
        raise ConnectionResetError
    return data
