"""Which system calls change a machine, and which only look as if they did, with the reason."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from tests.real.system_calls import Call

# Where anything may be written besides the folder that was given.
PLACES = {
    r"/dev/null": "what nobody wants to read",
    r"/sys/kernel/tracing/instances/necroscope-\d+(-\d+)?(/.*)?": "the ledger's own, gone when it ends",
}
# Calls that could change something and with these arguments do not.
HARMLESS: dict[str, dict[str, str]] = {
    "ioctl": {
        r".*, (TCGETS|TIOCGWINSZ), .*": "asks whether it is a terminal, and for its size",
        r".*, (FIOCLEX|FIONBIO).*": "how we use a descriptor of our own",
        r".*, SIOCETHTOOL, .*": "reads the counters of a network device; strace does not tell which",
        r"\d+<anon_inode:\[perf_event\]>.*": "perf's own events",
    },
    "clock_adjtime": {r".*\{modes=0, .*": "reads whether somebody keeps the clock right"},
    "prlimit64": {
        r"\d+, \w+, NULL, .*": "reads a limit",
        r"\d+, RLIMIT_DATA, \{.*": "how much memory a child of ours may take",
        r"\d+, RLIMIT_FSIZE, \{.*": "how much perf may write",
    },
    "bpf": {r"BPF_(PROG|MAP|BTF|LINK)_GET_.*": "perf reads which programs there are"},
    "setpriority": {r"PRIO_PROCESS, 0, .*": "how nice we are ourselves"},
    "sched_setaffinity": {r"0, .*": "where we run ourselves"},
    "setns": {
        r"\d+<.*mnt:\[\d+\]>, CLONE_NEWNS": "perf looks for the programs of a container in its files",
        r"\d+<.*net:\[\d+\]>, CLONE_NEWNET": "a thread of ours lists the sockets of a container, and ends",
    },
    "connect": {
        r'.*sun_path="/run/(dbus/system_bus_socket|systemd/private)".*': "asks systemd: see READING_METHODS",
        r'.*sun_path="/var/run/nscd/socket".*': "the C library asks for the name of a user",
        r'.*sin_addr=inet_addr\("127\.0\.0\.1"\).*': "the API server that was named: see sendto",
    },
    "sendto": {
        r"\d+<UNIX.*": "to systemd, or between perf's own processes",
        r'\d+<TCP.*, "GET /api/v1/nodes/.*': "asks the API server of the cluster that was named",
        r".*nlmsg_type=(0x14|SOCK_DIAG_BY_FAMILY)\b.*NLM_F_REQUEST\|(0x300|NLM_F_DUMP)\b.*": "lists sockets",
    },
    "execve": {r'"[^"]*/(necroscope|python[\d.]*|perf|setpriv|sh)", .*': "ourselves, and perf"},
}
# What systemd may be asked. None of them changes a unit.
READING_METHODS = {
    "Hello": "the bus wants it first",
    "Get": "one property",
    "GetAll": "all properties",
    "ListUnits": "",
    "ListUnitsFiltered": "",
    "ListUnitsByPatterns": "",
    "ListUnitFiles": "",
    "ListJobs": "",
    "GetUnit": "",
    "GetUnitByPID": "",
    "GetUnitProcesses": "",
    "GetUnitFileState": "",
    "LoadUnit": "systemd reads the files of a unit that nobody has asked for before",
}
WRITES = re.compile(r"\b(O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND|O_TMPFILE)\b")
OPENS = ("open", "openat", "openat2")
SIGNALS = ("kill", "tkill", "tgkill")


def forbidden(calls: Sequence[Call], given: str) -> Iterator[str]:
    """The calls that would change the machine outside of a folder."""
    own = {call.process for call in calls}
    places = [*PLACES, f"{re.escape(given)}(/.*)?"]
    for call in calls:
        if call.name in OPENS and not WRITES.search(call.arguments):
            continue
        if call.name in SIGNALS:
            *processes, signal = call.arguments.split(", ")
            if signal != "0" and not {int(number) for number in processes} <= own:  # 0 asks who is there
                yield str(call)
        elif call.name in HARMLESS:
            if not any(re.fullmatch(pattern, call.arguments, re.DOTALL) for pattern in HARMLESS[call.name]):
                yield str(call)
        elif not _all_in(call.paths, places):
            yield str(call)


def _all_in(paths: Iterable[str], places: Iterable[str]) -> bool:
    """Whether a call names a path, and only such as are in one of these places."""
    named = tuple(paths)
    return bool(named) and all(any(re.fullmatch(place, path) for place in places) for path in named)
