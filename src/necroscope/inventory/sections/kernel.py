"""The kernel: release, command line, and how it was built.

Reads    /proc/sys/kernel, /proc/cmdline, /boot/config-RELEASE, /lib/modules, /sys/kernel/security/lockdown
Needs    nothing; root for the preemption model of a dynamic kernel, which is in debugfs
Costs    some small reads: 0.2 ms; the configuration is one of 250 KB, where it is there

What changes from boot to boot or names a disk is left out of the command line: the initrd's and the
kernel's file, and the UUID behind `root=`, of which only the kind stays.
"""

from __future__ import annotations

import re

from necroscope.inventory.sections.gathered import Facts, Gathered
from necroscope.inventory.sections.subject import Subject
from necroscope.model.reading import Reading
from necroscope.sources.host import Host

NOT_SETTINGS = ("BOOT_IMAGE", "initrd", "systemd.machine_id", "systemd.hostname", "hostname")
UUID = re.compile(
    r"(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?<=PARTUUID=)[0-9a-f-]+"
)
CONFIG = re.compile(
    r"^(CONFIG_(?:CGROUPS?(?:_\w+)?|MEMCG\w*|PREEMPT\w*|NO_HZ\w*|HZ|HZ_\d+|SLUB\w*|NUMA\w*|PSI\w*|RCU_NOCB\w*"
    r"|FAIR_GROUP_SCHED|CFS_BANDWIDTH|BPF_SYSCALL|DEBUG_INFO_BTF|TRANSPARENT_HUGEPAGE\w*))=(.*)$",
    re.MULTILINE,
)
WORD = re.compile(r'(?:"[^"]*"|[^\s"])+')
LONGEST = 1 << 16  # the kernel takes 4 KiB at most; a hostile tree may have more
MODELS = ("PREEMPT_RT", "PREEMPT_DYNAMIC", "PREEMPT_LAZY", "PREEMPT")


def parse_command_line(text: str) -> dict[str, str]:
    """The parameters of a kernel command line; several values of one are put behind each other."""
    parameters: dict[str, list[str]] = {}
    words = [word.replace('"', "") for word in WORD.findall(text[:LONGEST])]
    own = words[: words.index("--")] if "--" in words else words
    for word in own:
        name, _, value = word.partition("=")
        if name and name not in NOT_SETTINGS:
            parameters.setdefault(name, []).append(UUID.sub("*", value))
    if "--" in words:  # the rest is for the first process
        parameters["--"] = words[words.index("--") + 1 :]
    return {name: " ".join(values) for name, values in parameters.items()}


def parse_kernel_config(text: str) -> dict[str, str]:
    """Those settings of a kernel's configuration that decide how it schedules and counts."""
    return dict(CONFIG.findall(text))


def read_kernel(subject: Subject) -> Reading[Facts]:
    """Release, version, command line, taint, lockdown, preemption, build settings, installed kernels."""
    host = subject.host
    gathered = Gathered()
    for name, file in (("release", "osrelease"), ("version", "version"), ("tainted", "tainted")):
        gathered.add_reading(name, host.read(f"/proc/sys/kernel/{file}"))
    command_line = host.read("/proc/cmdline", errors="replace").parsed(parse_command_line)
    gathered.miss(command_line)
    for name, value in (command_line.value or {}).items():
        gathered.add(f"command-line/{name}", value)
    gathered.add_known("lockdown", _chosen(host.read("/sys/kernel/security/lockdown").value or "", "[]"))
    gathered.add_known("preempt", _preempt(host, gathered.facts.get("version", "")))
    installed = [name for name in host.names("/lib/modules").value or () if name[:1].isdigit()]
    gathered.add_known("installed", " ".join(installed))
    release = gathered.facts.get("release") or (installed[0] if len(installed) == 1 else "")
    if release and "/" not in release:
        config = host.read(f"/boot/config-{release}", errors="replace")
        for name, value in parse_kernel_config(config.value or "").items():
            gathered.add(f"config/{name}", value)
    if gathered.facts and "release" not in gathered.facts:
        gathered.say("what runs: not running")
    return gathered.reading("no kernel in /proc, /boot or /lib/modules")


def _preempt(host: Host, version: str) -> str:
    """The model that counts now where debugfs tells, else what the kernel was built for."""
    dynamic = _chosen(host.read("/sys/kernel/debug/sched/preempt").value or "", "()")
    return dynamic or next((model for model in MODELS if model in version.split()), "")


def _chosen(text: str, brackets: str) -> str:
    """The word in brackets, as the kernel marks the choice among many."""
    match = re.search(rf"\{brackets[0]}(\w+)\{brackets[1]}", text)
    return match[1] if match else ""
