"""Fill one core with softirqs: a flood of datagrams to a host that looks at thousands of rules for each.

A pair of veth links joins two network namespaces, which have no names and end with the two processes in them.
Whoever sends on a veth link receives for its peer as well, in a softirq on the same core. The receiving side
has a long list of routing rules of which none fits, as a firewall or a mesh may have, so that a packet
costs far more to receive than to send.

Needs    root, and the Debian packages iproute2 and util-linux
Costs    0.5 s to set up; the core is then full. On a core that another process shared, softirqs had 22 % of
         it without rules, 35 % with 200 and 81 % with 2,000 (Linux 6.18)
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

TOOLS = ("ip", "nsenter", "unshare")
RULES = 4_000
SENDER, RECEIVER = "198.51.100.1", "198.51.100.2"
PORT = 9

# Both end with who started them. The receiver only has the port: what comes is dropped once that is full.
BEGIN = """
import ctypes, os, socket, sys
ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL
door = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
"""
RECEIVE = f"""{BEGIN}
door.bind(("", {PORT}))
print("ready", flush=True)
sys.stdin.read()
"""
SEND = f"""{BEGIN}
os.sched_setaffinity(0, [int(sys.argv[1])])
print("ready", flush=True)
sys.stdin.readline()
door.connect(("{RECEIVER}", {PORT}))
datagram = bytes(64)
while True:
    door.send(datagram)
"""


def why_not() -> str | None:
    """Why no flood can be made here, or None."""
    if os.geteuid() != 0:
        return "not root"
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    return f"{', '.join(missing)} missing: apt-get install iproute2 util-linux" if missing else None


@contextmanager
def softirq_flood(core: int, rules: int = RULES) -> Iterator[int]:
    """A core full of softirqs, for as long as this is entered; gives the pid of the sender."""
    with _apart(RECEIVE) as receiver, _apart(SEND, str(core)) as sender:
        peer = ["peer", "name", "flood", "netns", str(receiver.pid)]
        _ip(sender, ["link", "add", "flood", "type", "veth", *peer])
        for process, address in ((sender, SENDER), (receiver, RECEIVER)):
            _ip(process, ["address", "add", f"{address}/24", "dev", "flood"])
            _ip(process, ["link", "set", "flood", "up"])
        _ip(receiver, ["-batch", "-"], _rules(rules))
        assert sender.stdin
        sender.stdin.write("go\n")
        sender.stdin.flush()
        yield sender.pid


@contextmanager
def _apart(program: str, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A program in a network namespace of its own."""
    # unshare becomes the program: the pid is that of the latter.
    command = ["unshare", "--net", sys.executable, "-IS", "-c", program, *words]
    # In a session of its own: a Ctrl-C is for us, who then end it.
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        if not process.stdout or process.stdout.readline() != "ready\n":
            raise OSError("no flood: a side of it has ended")
        yield process
    finally:
        process.kill()
        process.communicate()


def _rules(count: int) -> str:
    """Rules for sources from which nothing comes, all before the one that fits."""
    return "".join(
        f"rule add from 203.0.113.{number % 250} lookup {1000 + number} preference {100 + number}\n"
        for number in range(count)
    )


def _ip(process: subprocess.Popen[str], words: Sequence[str], lines: str = "") -> None:
    """Have ip do something in the namespace of a process."""
    enter = ["nsenter", f"--target={process.pid}", "--net"]
    subprocess.run([*enter, "ip", *words], input=lines, text=True, check=True)
