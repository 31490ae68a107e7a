"""The kubelet: its configuration file, its flags, and more files of both.

Reads    the file that --config names, else /var/lib/kubelet/config.yaml and where installers put it;
         kubelet.service and its environment
Needs    the right to read these files
Costs    one small read per file: less than 1 ms

A file that cannot be read (see `flat` for what YAML may have) is reported as such.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from necroscope.inventory.sections.environment import environment_of
from necroscope.inventory.sections.flat import parse_yaml
from necroscope.inventory.sections.gathered import Facts, Gathered
from necroscope.inventory.sections.runtime import add_configuration
from necroscope.inventory.sections.subject import Subject
from necroscope.model.reading import Reading

FILES = (
    "/var/lib/kubelet/config.yaml",
    "/etc/kubernetes/kubelet/config.json",
    "/etc/kubernetes/kubelet/kubelet-config.json",
    "/etc/kubernetes/kubelet/kubelet-config.yaml",
    "/etc/kubernetes/kubelet-config.yaml",
    "/etc/kubernetes/kubelet.yaml",
    "/home/kubernetes/kubelet-config.yaml",
)
VARIABLE = re.compile(r"\$\{?(\w+)\}?")
NAMES = ("kubelet.service", "snap.kubelet-eks.daemon.service")


def parse_flags(command: str, variables: Mapping[str, str]) -> dict[str, str]:
    """The flags of a command line, variables filled in; a flag without a value is `true`."""
    filled = VARIABLE.sub(lambda match: variables.get(match[1], ""), command)
    try:
        words = shlex.split(filled)
    except ValueError:
        words = filled.split()
    flags: dict[str, list[str]] = {}
    for index, word in enumerate(words):
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            following = words[index + 1] if index + 1 < len(words) else "--"
            flags.setdefault(name, []).append(
                value if equals else "true" if following[:1] == "-" else following
            )
    return {name: " ".join(values) for name, values in flags.items() if name}


def read_kubelet(subject: Subject) -> Reading[Facts]:
    """flags/NAME, config/KEY/PATH, config-dir/FILE/KEY/PATH, and which file it is."""
    host = subject.host
    gathered = Gathered()
    flags: dict[str, str] = {}
    for unit in subject.unit_files.value or ():
        if unit.name in NAMES:
            variables = environment_of(host, unit, gathered)
            for command in unit.settings.get("Service.ExecStart", ()):
                flags |= parse_flags(command, variables)
    for name, value in flags.items():
        gathered.add(f"flags/{name}", value)
    for file in (flags["config"],) if "config" in flags else FILES:
        if add_configuration(host, gathered, "config", file, parse=parse_yaml):
            gathered.add("config-file", file)
            break
    folder = flags.get("config-dir", "/etc/kubernetes/kubelet/config.json.d")
    for file in host.names(folder).value or ():
        if file.endswith((".conf", ".json", ".yaml")):
            add_configuration(host, gathered, f"config-dir/{file}", f"{folder}/{file}", parse=parse_yaml)
    return gathered.reading(subject.why_nothing)
