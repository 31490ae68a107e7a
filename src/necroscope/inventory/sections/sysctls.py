"""The kernel's settings.

Reads    /proc/sys
Needs    nothing; a few may only be read by root
Costs    one read of each: 890 take 30 ms, behind another root 90 ms

Left out are counts, states and orders, and the settings of interfaces that containers bring and take;
values that the kernel sizes by the memory are rounded: all that is `rules/volatile.toml`.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from fnmatch import fnmatchcase

from necroscope.inventory.sections.gathered import Facts, Gathered
from necroscope.inventory.sections.subject import Subject
from necroscope.inventory.sections.volatile import rounded, volatile_rules
from necroscope.model.reading import Absence, Reading
from necroscope.sources.host import Host
from necroscope.sources.nic_queues import hardware_devices

PLACE = "/proc/sys"
# The kernel answers for the namespaces of whoever asks.
OF_NETWORK = ("net/*",)
OF_IPC = ("fs/mqueue/*", "kernel/msg*", "kernel/sem*", "kernel/shm*", "kernel/auto_msgmni")
DEEPEST = 12
MOST = 20_000  # a node with 1,000 interfaces has as many; more are not entered


def read_sysctls(subject: Subject) -> Reading[Facts]:
    """All settings by the names that sysctl has for them."""
    host = subject.host
    gathered = Gathered()
    devices = {device for device, _, _ in hardware_devices(host).value or ()}
    ours = (() if subject.shares_network else OF_NETWORK) + (() if subject.shares_ipc else OF_IPC)
    if ours:
        gathered.say(f"{' '.join(ours)}: another namespace, which only its own processes can read")
    for count, path in enumerate(_paths(host, "", devices)):
        if _fits(path, ours):
            continue
        if count == MOST:
            gathered.say(f"more than {MOST} files in {PLACE}")
            break
        reading = host.read(f"{PLACE}/{path}", errors="replace")
        if reading.value is not None:
            name = path.replace(".", "\0").replace("/", ".").replace("\0", "/")  # as sysctl writes eth0.100
            gathered.add(name, normal_value(path, " ".join(reading.value.split())))
        elif reading.absence is Absence.NOT_PERMITTED and _can_be_read(host, path):
            gathered.say(f"not permitted: {path}")
    return gathered.reading(f"no {PLACE}")


def _can_be_read(host: Host, path: str) -> bool:
    """By anybody: an order can only be written."""
    try:
        return bool(os.stat(host.path(f"{PLACE}/{path}")).st_mode & 0o444)  # noqa: PTH116
    except OSError:
        return False


def normal_value(path: str, value: str) -> str:
    """The value; rounded where the kernel computed it from the memory, sorted where its order is chance."""
    rules = volatile_rules()["sysctls"]
    if _fits(path, rules["sized_by_memory"]):
        return " ".join(rounded(word) for word in value.split())
    return " ".join(sorted(value.split())) if _fits(path, rules["unordered"]) else value


def _paths(host: Host, folder: str, devices: Collection[str]) -> Iterator[str]:
    """All files that are settings, below one folder."""
    try:
        with os.scandir(host.path(f"{PLACE}/{folder}")) as entries:
            found = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
    except OSError:
        return  # gone, as interfaces go
    rules = volatile_rules()["sysctls"]
    is_of_interfaces = folder in rules["interfaces"]["folders"]
    for name, is_folder in found:
        path = f"{folder}/{name}".lstrip("/")
        if is_of_interfaces and name not in (*rules["interfaces"]["kept"], *devices):
            continue
        if _fits(path, rules["left_out"]):
            continue
        if is_folder and path.count("/") < DEEPEST:
            yield from _paths(host, path, devices)
        elif not is_folder:
            yield path


def _fits(path: str, patterns: Collection[str]) -> bool:
    return any(fnmatchcase(path, pattern) for pattern in patterns)
