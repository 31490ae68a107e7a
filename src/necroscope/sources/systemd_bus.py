"""Questions to systemd over D-Bus, many in one breath.

The system bus answers anybody; systemd's private socket answers root and works without a bus.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any

from jeepney import DBusAddress, HeaderFields, Message, MessageType, Parser, Properties, new_method_call
from jeepney.auth import AuthenticationError
from jeepney.bus_messages import message_bus
from jeepney.io.blocking import prep_socket

from necroscope.sources.host import Host

TIMEOUT_SECONDS = 3.0
SOCKETS = ("/run/dbus/system_bus_socket", "/run/systemd/private")
MANAGER = DBusAddress(
    "/org/freedesktop/systemd1", "org.freedesktop.systemd1", "org.freedesktop.systemd1.Manager"
)


class SystemdBus:
    """A connection to a host's systemd. Raises OSError where there is none that answers us."""

    def __init__(self, host: Host) -> None:
        self._serials = count(1)
        self._parser = Parser()
        self._socket = self._connect(host)

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def call(self, method: str, signature: str, arguments: tuple[Any, ...]) -> Any:
        """Call one method of systemd's manager and return the body of its answer."""
        (answer,) = self._ask([new_method_call(MANAGER, method, signature, arguments)])
        if answer.header.message_type is MessageType.error:
            raise OSError(f"{method}: {answer.header.fields.get(HeaderFields.error_name)}")
        return answer.body

    def properties(self, wanted: Sequence[tuple[str, str, str]]) -> list[Any]:
        """The values of (object path, interface, property); None where systemd has no such property."""
        questions = [
            Properties(
                DBusAddress(path, "org.freedesktop.systemd1", f"org.freedesktop.systemd1.{interface}")
            ).get(name)
            for path, interface, name in wanted
        ]
        answers = self._ask(questions)
        return [None if a.header.message_type is MessageType.error else a.body[0][1] for a in answers]

    def _connect(self, host: Host) -> socket.socket:
        refusal = OSError("no systemd")
        for name in SOCKETS:
            try:
                door: socket.socket = prep_socket(str(host.path(name)), timeout=TIMEOUT_SECONDS)
            except AuthenticationError as error:
                refusal = PermissionError(f"{name}: {error}")
                continue
            except OSError as error:
                refusal = error if not isinstance(refusal, PermissionError) else refusal
                continue
            door.settimeout(TIMEOUT_SECONDS)
            self._socket = door
            if "private" not in name:
                self._ask([message_bus.Hello()])
            return door
        raise refusal

    def _ask(self, questions: Iterable[Message]) -> list[Message]:
        """Send all questions, then collect the answers in the order of the questions."""
        serials = []
        block = bytearray()
        for question in questions:
            serials.append(next(self._serials))
            block += question.serialise(serial=serials[-1])
        self._socket.sendall(block)
        answers: dict[int, Message] = {}
        while len(answers) < len(serials):
            message = self._parser.get_next_message()
            if message is None:
                data = self._socket.recv(1 << 16)
                if not data:
                    raise ConnectionResetError("systemd hung up")
                self._parser.add_data(data)
            elif HeaderFields.reply_serial in message.header.fields:  # signals are not for us
                answers[message.header.fields[HeaderFields.reply_serial]] = message
        return [answers[serial] for serial in serials]
