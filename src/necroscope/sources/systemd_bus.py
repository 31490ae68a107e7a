"""Questions to systemd over D-Bus, many in one breath.

The system bus answers anybody; systemd's private socket answers root and works without a bus.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
import time
from collections.abc import Iterable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from jeepney import DBusAddress, HeaderFields, Message, MessageType, Parser, Properties, new_method_call
from jeepney.bus_messages import message_bus

from necroscope.sources.host import Host

TIMEOUT_SECONDS = 3.0  # for one breath, whatever else systemd sends meanwhile
MAX_ANSWER_BYTES = 64 << 20  # to one breath; whatever else systemd sends meanwhile counts, too
MAX_GREETING_BYTES = 16 << 10
QUESTIONS_AT_ONCE = 100  # dbus-daemon refuses more than 128 that wait for an answer
SOCKETS = ("/run/dbus/system_bus_socket", "/run/systemd/private")
NOBODY = (FileNotFoundError, NotADirectoryError, ConnectionRefusedError)  # no one listens
NAME = "org.freedesktop.systemd1"
MANAGER = DBusAddress("/org/freedesktop/systemd1", NAME, f"{NAME}.Manager")

# What a D-Bus error means, by the last part of its name; any other is a failure.
NO_SUCH_PROPERTY = ("UnknownProperty", "UnknownInterface", "UnknownObject", "NoSuchUnit")
ERRNO = {
    "AccessDenied": errno.EACCES,
    "UnknownMethod": errno.ENODEV,
    "ServiceUnknown": errno.ENODEV,
    "NameHasNoOwner": errno.ENODEV,
}


class SystemdBus:
    """A connection to a host's systemd. Raises OSError where there is none that answers us."""

    def __init__(self, host: Host) -> None:
        self._serials = count(1)
        self._parser = Parser()
        self._socket, is_bus, surplus = _connect(host)
        self._parser.add_data(surplus)
        if is_bus:
            try:
                self._ask([message_bus.Hello()])
            except OSError as error:
                self.close()
                raise _refused(error) from error

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def refuse_another_root(self, host: Host) -> None:
        """Raise OSError where the systemd that answers is not that of the host's root.

        To look, a container may have the /run of its host at its own place; nothing is changed that way.
        """
        _refuse_another_root(host, self._socket)

    def call(
        self,
        method: str,
        signature: str,
        arguments: tuple[Any, ...],
        timeout_seconds: float | None = None,
    ) -> Any:
        """Call one method of systemd's manager and return the body of its answer."""
        (answer,) = self._ask([new_method_call(MANAGER, method, signature, arguments)], timeout_seconds)
        if error := _error_name(answer):
            raise _failure(method, error, answer)
        return answer.body

    def properties(self, wanted: Sequence[tuple[str, str, str]]) -> list[Any]:
        """The values of (object path, interface, property); None where systemd has no such property."""
        questions = [
            Properties(DBusAddress(path, NAME, f"{NAME}.{interface}")).get(name)
            for path, interface, name in wanted
        ]
        values = []
        for begin in range(0, len(questions), QUESTIONS_AT_ONCE):
            for answer in self._ask(questions[begin : begin + QUESTIONS_AT_ONCE]):
                error = _error_name(answer)
                if error and error.rpartition(".")[2] not in NO_SUCH_PROPERTY:
                    raise _failure("Get", error, answer)
                values.append(None if error else answer.body[0][1])
        return values

    def _ask(self, questions: Iterable[Message], timeout_seconds: float | None = None) -> list[Message]:
        """Send all questions, then collect the answers in the order of the questions."""
        deadline = time.monotonic() + (timeout_seconds or TIMEOUT_SECONDS)
        serials = []
        block = bytearray()
        for question in questions:
            serials.append(next(self._serials))
            block += question.serialise(serial=serials[-1])
        self._socket.sendall(block)
        answers: dict[int, Message] = {}
        left_bytes = MAX_ANSWER_BYTES
        while len(answers) < len(serials):
            try:
                message = self._parser.get_next_message()
            except (LookupError, ValueError, TypeError) as error:
                raise OSError(errno.EPROTO, f"not an answer in D-Bus: {error!r}") from error
            if message is None:
                data = _receive(self._socket, deadline)
                left_bytes -= len(data)
                if left_bytes < 0:
                    raise OSError(errno.EMSGSIZE, f"answers of more than {MAX_ANSWER_BYTES:,} bytes")
                self._parser.add_data(data)
            elif HeaderFields.reply_serial in message.header.fields:  # signals are not for us
                answers[message.header.fields[HeaderFields.reply_serial]] = message
        return [answers[serial] for serial in serials]


def _refused(error: OSError) -> OSError:
    """What it means that the bus did not greet us."""
    hung_up = isinstance(error, BrokenPipeError | ConnectionResetError)
    if not hung_up or os.geteuid() == 0:
        return error
    # What dbus-daemon does, after its OK, with a user that its machine has no name for.
    return PermissionError(errno.EACCES, f"the bus hung up on user {os.geteuid()}: the host knows none such")


def _error_name(answer: Message) -> str:
    if answer.header.message_type is not MessageType.error:
        return ""
    return str(answer.header.fields.get(HeaderFields.error_name) or "an error without a name")


def _failure(method: str, error: str, answer: Message) -> OSError:
    """What systemd said, which is a sentence for people, or else the names of the question and the error."""
    said = answer.body[0] if answer.body and isinstance(answer.body[0], str) else ""
    return OSError(ERRNO.get(error.rpartition(".")[2], errno.EPROTO), said or f"{method}: {error}")


def _connect(host: Host) -> tuple[socket.socket, bool, bytes]:
    """The first socket that lets us in, whether it is a bus, and what it has said already."""
    refusal: OSError = FileNotFoundError("no socket of systemd")
    for name in SOCKETS:
        door = socket.socket(socket.AF_UNIX)
        try:
            door.settimeout(TIMEOUT_SECONDS)
            door.connect(str(host.path(name)))
            if host.is_live and not host.is_own:
                _refuse_another_root(host, door)
            return door, name == SOCKETS[0], _authenticate(door)
        except OSError as error:
            door.close()
            if isinstance(refusal, NOBODY):  # a refusal or silence is worth more than an absence
                refusal = type(error)(error.errno or 0, f"{name}: {error.strerror or error}")
    raise refusal


def _refuse_another_root(host: Host, door: socket.socket) -> None:
    """An image that is being worked on may have the /run of the machine that builds it."""
    # The one who made the socket, which is systemd for the bus's, too; 0 where we cannot see it.
    pid, _, _ = struct.unpack("3i", door.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    try:
        is_same = not pid or os.path.samestat(host.root.stat(), Path(f"/proc/{pid}/root").stat())
    except OSError:  # we may not know
        return
    if not is_same:
        raise OSError(errno.EXDEV, f"the systemd that answers is not that of {host.root}")


def _authenticate(door: socket.socket) -> bytes:
    """Say who we are, all in one go as systemd's own library does; gives what came after the answer.

    jeepney waits for the OK before it says BEGIN. If systemd then reads BEGIN together with our first
    question, it leaves the question in its buffer and never answers (seen with systemd 252).
    """
    user = str(os.geteuid()).encode().hex()
    door.sendall(f"\0AUTH EXTERNAL {user}\r\nBEGIN\r\n".encode())
    answer = b""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while b"\r\n" not in answer:
        answer += _receive(door, deadline)
        if len(answer) > MAX_GREETING_BYTES:
            raise OSError(errno.EPROTO, "not a greeting in D-Bus")
    line, _, surplus = answer.partition(b"\r\n")
    if not line.startswith(b"OK "):
        raise PermissionError(0, f"refused: {line.decode(errors='replace')}")
    return surplus


def _receive(door: socket.socket, deadline: float) -> bytes:
    remaining = deadline - time.monotonic()
    if remaining <= 0:
        raise TimeoutError(0, "no answer in time")
    door.settimeout(remaining)
    data = door.recv(1 << 16)
    if not data:
        raise ConnectionResetError(0, "systemd hung up")
    return data
