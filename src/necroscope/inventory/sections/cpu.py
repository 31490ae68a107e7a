"""Processors: model, topology, frequency, and the mitigations that cost time.

Reads    /proc/cpuinfo, /sys/devices/system/cpu, /sys/devices/system/node
Needs    nothing
Costs    one read of /proc/cpuinfo, which grows with the cores, and six of each core: 0.8 ms on 2 cores
"""

from __future__ import annotations

import re
from collections import Counter

from necroscope.inventory.sections.gathered import Facts, Gathered
from necroscope.inventory.sections.subject import Subject
from necroscope.model.reading import Reading
from necroscope.sources.host import Host, parse_core_list

SYSTEM = "/sys/devices/system/cpu"
# The names on x86; then those of Arm, which names the model by number.
CPUINFO = {
    "vendor_id": "vendor",
    "model name": "model",
    "microcode": "microcode",
    "stepping": "stepping",
    "CPU implementer": "implementer",
    "CPU part": "part",
    "CPU variant": "variant",
    "CPU revision": "revision",
}


def parse_cpuinfo(text: str) -> dict[str, str]:
    """What the processors are; several kinds in one machine show as `a + b`."""
    kinds: dict[str, list[str]] = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon and (fact := CPUINFO.get(name.strip())) and value.strip() not in kinds.get(fact, ()):
            kinds.setdefault(fact, []).append(value.strip())
    return {name: " + ".join(sorted(values)) for name, values in kinds.items()}


def read_cpu(subject: Subject) -> Reading[Facts]:
    """Model and microcode, counts of cores, sockets and nodes, SMT, governor, mitigations."""
    host = subject.host
    gathered = Gathered()
    for name, value in (
        host.read("/proc/cpuinfo", errors="replace").parsed(parse_cpuinfo).value or {}
    ).items():
        gathered.add(name, value)
    for which in ("online", "possible", "isolated", "nohz_full", "offline"):
        gathered.add_reading(which, host.read(f"{SYSTEM}/{which}"))
    _add_topology(host, gathered)
    nodes = [
        name for name in host.names("/sys/devices/system/node").value or () if re.fullmatch(r"node\d+", name)
    ]
    gathered.add_known("numa-nodes", str(len(nodes) or ""))
    for node in nodes:
        gathered.add_reading(f"{node}/cores", host.read(f"/sys/devices/system/node/{node}/cpulist"))
    gathered.add_reading("smt", host.read(f"{SYSTEM}/smt/control"))
    for file in (
        "cpuidle/current_driver",
        "cpuidle/current_governor",
        "intel_pstate/status",
        "intel_pstate/no_turbo",
    ):
        gathered.add_reading(file.replace("/current_", "/"), host.read(f"{SYSTEM}/{file}"))
    gathered.add_reading("amd_pstate/status", host.read(f"{SYSTEM}/amd_pstate/status"))
    gathered.add_reading("boost", host.read(f"{SYSTEM}/cpufreq/boost"))
    for name in host.names(f"{SYSTEM}/vulnerabilities").value or ():
        gathered.add_reading(f"mitigations/{name}", host.read(f"{SYSTEM}/vulnerabilities/{name}"))
    return gathered.reading(f"no {SYSTEM} and no /proc/cpuinfo")


def _add_topology(host: Host, gathered: Gathered) -> None:
    online = host.read(f"{SYSTEM}/online").parsed(parse_core_list).value or ()
    packages, cores = set(), set()
    settings: dict[str, Counter[str]] = {
        "governor": Counter(),
        "driver": Counter(),
        "energy-preference": Counter(),
    }
    for core in online:
        folder = f"{SYSTEM}/cpu{core}"
        package = host.word(f"{folder}/topology/physical_package_id")
        if package:
            packages.add(package)
            cores.add(
                (package, host.word(f"{folder}/topology/die_id"), host.word(f"{folder}/topology/core_id"))
            )
        for name, file in (
            ("governor", "scaling_governor"),
            ("driver", "scaling_driver"),
            ("energy-preference", "energy_performance_preference"),
        ):
            if value := host.word(f"{folder}/cpufreq/{file}"):
                settings[name][value] += 1
    gathered.add_known("threads", str(len(online) or ""))
    gathered.add_known("cores", str(len(cores) or ""))
    gathered.add_known("sockets", str(len(packages) or ""))
    for name, counts in settings.items():
        # One of 96 cores with another governor must show.
        gathered.add_known(
            name, ", ".join(sorted(f"{value} ({count} threads)" for value, count in counts.items()))
        )
