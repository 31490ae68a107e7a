"""Which machine this is: host name, kernel, boot, image, and the labels of its cloud, cluster and owner.

Reads    /proc/sys/kernel, /etc/os-release, /sys/devices/system/cpu, /sys/class/dmi/id;
         /etc/necroscope/labels.toml; the metadata service of EC2, GCP or Azure; of a pod that has
         NODE_NAME, its node from the API server
Needs    nothing; the node needs a service account that may get it
Costs    some small reads; of each service that is there at most 0.5 s, once

Nothing is asked over the network unless the firmware says that this is one of these clouds, or the
environment names a service (cloud.py). What is not known stays empty. docs/labels.md has the names.
"""

from __future__ import annotations

import math
import os
import shlex
import tomllib
from dataclasses import asdict, fields, replace

from necroscope.model.labels import Label, Labels, fit_labels
from necroscope.model.reading import Absence, Reading
from necroscope.sources.cloud import NOBODY, Identity, ask_cloud
from necroscope.sources.host import Host, only_line, parse_core_list
from necroscope.sources.kubernetes_node import ask_node
from necroscope.sources.own_address import own_address
from necroscope.sources.source import Read, Source

LABEL_FILE = "/etc/necroscope/labels.toml"
MAX_LABEL_FILE_BYTES = 1 << 20


def parse_os_release(text: str) -> dict[str, str]:
    """The fields of /etc/os-release."""
    fields = {}
    for line in text.splitlines():
        name, separator, value = line.partition("=")
        if separator and not name.startswith("#"):
            fields[name] = " ".join(shlex.split(value))
    return fields


def open_instance(host: Host) -> Read[Labels]:
    """A reader of the host's labels; unknown is empty, and the detail says who did not answer."""

    def read() -> Reading[Labels]:
        release = host.read("/etc/os-release").parsed(parse_os_release).value or {}
        cloud, no_cloud = ask_cloud(host)
        node, no_node = ask_node() if host.is_live else (None, "")
        owners, no_file = read_owners_labels(host)
        identity = filled_in(cloud, node.identity if node else NOBODY, owners)
        return Reading(
            Labels(
                hostname=host.name(),
                kernel=host.word("/proc/sys/kernel/osrelease"),
                boot_id=host.word("/proc/sys/kernel/random/boot_id"),
                image=release.get("IMAGE_ID") or release.get("PRETTY_NAME", ""),
                cores_online=_count_cores(host, "online"),
                cores_possible=_count_cores(host, "possible"),
                **asdict(replace(identity, address=identity.address or own_address(host))),
                others=_others(node.labels if node else (), owners),
            ),
            detail="; ".join(filter(None, (no_cloud, no_node, no_file))),
        )

    return read


def filled_in(cloud: Identity, node: Identity, owners: tuple[Label, ...]) -> Identity:
    """What the owner says counts most, then the cloud; the cluster knows what the cloud would not tell."""
    said = {label.name: label.value for label in owners}
    known = {name: said.get(name) or value or getattr(node, name) for name, value in asdict(cloud).items()}
    return Identity(**known)


def _others(node: tuple[Label, ...], owners: tuple[Label, ...]) -> tuple[Label, ...]:
    named = {field.name for field in fields(Labels)}  # the host name and the kernel are what they are
    found = {label.name: label for label in (*node, *owners) if label.name not in named}
    return tuple(label for _, label in sorted(found.items()))


def _count_cores(host: Host, which: str) -> int:
    cores = host.read(f"/sys/devices/system/cpu/{which}").parsed(only_line).parsed(parse_core_list)
    return len(cores.value or ())


def read_owners_labels(host: Host) -> tuple[tuple[Label, ...], str]:
    """The labels of the owner's file, and why there are none although there should be.

        zone = "hall-2"
        rack = "b17"

    Flat: a name, and text, a number or true and false. In a pod, NECROSCOPE_LABELS names a file of the pod.
    """
    # A recorded tree or an image has its own file; what is named is about the machine that runs.
    named = os.environ.get("NECROSCOPE_LABELS", "") if host.is_live else ""
    door = Host() if named else host
    reading = door.read_regular(named or LABEL_FILE, most_bytes=MAX_LABEL_FILE_BYTES)
    if reading.absence is Absence.NOT_SUPPORTED and not named:
        return (), ""
    labels = reading.parsed(parse_owners_labels)
    return labels.value or (), labels.reason


def parse_owners_labels(text: str) -> tuple[Label, ...]:
    """The labels in TOML. ValueError: it is none, or not flat."""
    try:
        document = tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error
    found = {}
    for name, value in document.items():
        if isinstance(value, bool):
            found[name] = str(value).lower()
        elif isinstance(value, str | int | float):
            found[name] = str(value).strip()
        else:
            raise ValueError(f"{name} is neither text nor a number")
    return fit_labels(found)


INSTANCE = Source("instance", open_instance, pace_seconds=math.inf)
