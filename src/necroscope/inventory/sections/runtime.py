"""Container runtimes: how containerd, Docker and CRI-O are configured.

Reads    /etc/containerd, /etc/docker/daemon.json, /etc/crio, /etc/nvidia-container-runtime/config.toml
Needs    the right to read these files
Costs    one small read per file: less than 1 ms
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from necroscope.inventory.redaction.redact import read_openly
from necroscope.inventory.sections.flat import flatten, parser_of
from necroscope.inventory.sections.gathered import Facts, Gathered
from necroscope.inventory.sections.subject import Subject
from necroscope.model.reading import Reading
from necroscope.sources.host import Host

FILES = {
    "containerd": "/etc/containerd/config.toml",
    "docker": "/etc/docker/daemon.json",
    "crio": "/etc/crio/crio.conf",
    "nvidia-container-runtime": "/etc/nvidia-container-runtime/config.toml",
}
FOLDERS = {
    "containerd/conf.d": "/etc/containerd/conf.d",
    "containerd/config.d": "/etc/containerd/config.d",
    "crio/crio.conf.d": "/etc/crio/crio.conf.d",
}


def read_runtime(subject: Subject) -> Reading[Facts]:
    """PROGRAM/KEY/PATH = value; what a folder of more files says stands under that file's name."""
    gathered = Gathered()
    for name, file in FILES.items():
        add_configuration(subject.host, gathered, name, file)
    for name, folder in FOLDERS.items():
        for file in subject.host.names(folder).value or ():
            if file.endswith((".toml", ".conf", ".json")):
                add_configuration(subject.host, gathered, f"{name}/{file}", f"{folder}/{file}")
    return gathered.reading(subject.why_nothing)


def add_configuration(
    host: Host, gathered: Gathered, name: str, file: str, parse: Callable[[str], Any] | None = None
) -> bool:
    """Add all settings of a file under a name; whether there is such a file that could be read."""
    text = read_openly(host, file)
    facts = text.parsed(parse or parser_of(file)).parsed(lambda document: dict(flatten(document)))
    gathered.miss(facts)
    for key, value in (facts.value or {}).items():
        gathered.add(f"{name}/{key}" if key else name, value)
    return facts.value is not None
