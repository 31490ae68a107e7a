"""What a program asks of the kernel that could change a machine, as strace saw it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from jeepney import HeaderFields, Parser

# What changes files, other processes, the kernel's settings or time, or talks to somebody who could.
WATCHED = (
    "open,openat,openat2,creat,/^(un)?link,/^symlink,/^rename,/^mk,/^rmdir,/chmod,/chown,/(set|remove)xattr,"
    "/truncate,fallocate,/utime,/mount,fsopen,fsconfig,open_tree,pivot_root,chroot,/^swapo,/kill$,"
    "pidfd_send_signal,/sigqueueinfo,/^sched_set,setpriority,ioprio_set,prlimit64,setrlimit,reboot,/module$,"
    "/^set.*name,/settime,/adjtime,ptrace,process_vm_writev,process_madvise,bpf,setns,/^send,connect,ioctl,"
    "execve,execveat"
)
DOORS = ("/run/dbus/system_bus_socket", "/run/systemd/private")  # behind which systemd answers
_LINE = re.compile(r"(\w+)\((.*)\) += (.*)")
_HEX = re.compile(r"(?:\\x[0-9a-f]{2})+")
_STRING = re.compile(r'"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?')
# A folder's descriptor with its path, or a path.
_PLACE = re.compile(r'(?:\d+|AT_FDCWD)<((?:\\x[0-9a-f]{2}|[^>])*)>|"((?:\\x[0-9a-f]{2})*)"')
_SOCKET = re.compile(r"\d+<[^>]*?\[(\d+)")  # strace adds the other end once it knows it


@dataclass(frozen=True, slots=True)
class Call:
    """One system call."""

    process: int
    name: str
    arguments: str  # as strace writes them, strings decoded
    paths: tuple[str, ...]  # absolute where strace knows the folder
    socket: str  # the number of the socket, of calls that have one
    sent: bytes

    def __str__(self) -> str:
        return f"{self.name}({self.arguments[:200]})"


def under_watch(folder: Path, command: Sequence[str]) -> list[str]:
    """The command that writes down what a command and its children do, a file a process."""
    options = ["-ff", "--seccomp-bpf", "-yy", "-qq", "-xx", "-s", "262144"]
    return ["strace", *options, "-e", f"trace={WATCHED}", "-o", f"{folder}/calls", *command]


def read_calls(folder: Path) -> list[Call]:
    """All calls, those of one process in their order."""
    return [
        _call(int(file.suffix[1:]), line)
        for file in sorted(folder.glob("calls.*"))
        for line in file.read_text(errors="replace").splitlines()
        if not line.startswith(("---", "+++"))
    ]


def bus_methods(calls: Iterable[Call]) -> set[str]:
    """The methods that were called over D-Bus."""
    streams: dict[str, bytes] = {}
    for call in calls:
        if call.name == "connect" and any(door in call.arguments for door in DOORS):
            streams[call.socket] = b""
        elif call.name.startswith("send") and call.socket in streams:
            streams[call.socket] += call.sent
    methods = set()
    for stream in streams.values():
        _, begin, messages = stream.partition(b"BEGIN\r\n")
        assert begin, f"not D-Bus: {stream[:80]!r}"
        parser = Parser()
        parser.add_data(messages)
        while message := parser.get_next_message():
            methods.add(str(message.header.fields[HeaderFields.member]))
    return methods


def _call(process: int, line: str) -> Call:
    match = _LINE.match(line)
    if not match:  # a process that was killed in the middle of one
        return Call(process, line.partition("(")[0], _decoded(line), (), "", b"")
    name, arguments, _ = match.groups()
    socket = _SOCKET.match(arguments)
    sent = _sent(arguments) if name.startswith("send") else b""
    return Call(process, name, _decoded(arguments), _paths(arguments), socket[1] if socket else "", sent)


def _sent(arguments: str) -> bytes:
    strings = list(_STRING.finditer(arguments))
    assert not any(string[2] for string in strings), "strace has cut a message"
    return b"".join(_bytes(string[1]) for string in strings)


def _paths(arguments: str) -> tuple[str, ...]:
    found: list[str] = []
    folder = ""
    for match in _PLACE.finditer(arguments):
        if match[1] is not None:
            folder = _decoded(match[1])
            continue
        path = _decoded(match[2])
        found.append(path if path.startswith("/") else f"{folder}/{path}")
    return tuple(found) or ((folder,) if folder else ())


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", ""))


def _decoded(text: str) -> str:
    return _HEX.sub(lambda match: _bytes(match[0]).decode(errors="replace"), text)
