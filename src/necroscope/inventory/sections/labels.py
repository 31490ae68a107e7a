"""Labels: what the cloud, the firmware, the image and its owner call a host.

Reads    what sources/instance.py reads; /etc/os-release, /sys/class/dmi/id;
         /run/cloud-init/instance-data.json; a file of labels that the caller names
Needs    nothing
Costs    some small reads; of each service that is there at most 0.5 s

What tells one host from another is no label: its name, its addresses, its instance id (`identity` has them).
Of the cloud's own data only the names below are taken.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from necroscope.errors import UsageError
from necroscope.inventory.redaction.redact import read_openly
from necroscope.inventory.sections.flat import flatten, parse_json, parser_of
from necroscope.inventory.sections.gathered import Facts, Gathered
from necroscope.inventory.sections.subject import Subject
from necroscope.model.labels import Labels
from necroscope.model.reading import Reading
from necroscope.sources.host import read_whole
from necroscope.sources.instance import parse_os_release

OF_INSTANCE = ("provider", "instance_type", "machine_image", "region", "zone", "image", "kernel")
OF_FIRMWARE = ("sys_vendor", "product_name", "bios_vendor", "bios_version")
INSTANCE_DATA = "/run/cloud-init/instance-data.json"
# A path into instance-data.json, and the label that it is.
OF_CLOUD_INIT = {
    "v1/cloud_name": "provider",
    "v1/region": "region",
    "v1/availability_zone": "zone",
    "v1/platform": "cloud-platform",
    "ds/meta_data/instance-type": "instance_type",
    "ds/meta_data/ami-id": "machine_image",
    "ds/dynamic/instance-identity/document/instanceType": "instance_type",
    "ds/dynamic/instance-identity/document/imageId": "machine_image",
}


def read_labels(subject: Subject) -> Reading[Facts]:
    """All labels that are known; those of the caller's file count most."""
    host = subject.host
    gathered = Gathered()
    data = read_openly(host, INSTANCE_DATA).parsed(parse_json).parsed(lambda found: dict(flatten(found)))
    gathered.miss(data)
    for path, name in OF_CLOUD_INIT.items():
        if (value := (data.value or {}).get(path, "")) not in ("", "null", "None"):
            gathered.add(name, value)
    labels = subject.instance.value or Labels()
    for name in OF_INSTANCE:
        gathered.add_known(name, str(getattr(labels, name)))
    for label in labels.others:
        gathered.add(label.name, label.value)
    gathered.say(subject.instance.detail)
    release = host.read("/etc/os-release").parsed(parse_os_release)
    gathered.miss(release)
    fields = release.value or {}
    gathered.add_known("os", f"{fields.get('ID', '')} {fields.get('VERSION_ID', '')}".strip())
    for name in OF_FIRMWARE:
        gathered.add_known(f"hardware/{name}", host.word(f"/sys/class/dmi/id/{name}"))
    for name, value in subject.given_labels.items():
        gathered.add(name, value)
    return gathered.reading("nothing says what this host is")


def read_label_file(path: Path) -> dict[str, str]:
    """The labels in a file: TOML, JSON, YAML or `key=value` lines. Raises UsageError at others."""
    try:
        text = read_whole(path).decode()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not text") from error
    try:
        if path.suffix in (".toml", ".json", ".yaml", ".yml"):
            return _flat(parser_of(path.name)(text))
        return _flat(parse_json(text)) if text.lstrip().startswith("{") else parse_label_lines(text)
    except ValueError as error:
        hint = "TOML, JSON, YAML or lines of key=value are read"
        raise UsageError(f"{path}: {error}", hint=hint) from error


def parse_label_lines(text: str) -> dict[str, str]:
    """`key=value` lines; # begins a comment."""
    labels = {}
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            name, equals, value = line.partition("=")
            if not equals or not name.strip():
                raise ValueError(f"line {number} is not key=value")
            labels[name.strip()] = value.strip().strip("\"'")
    return labels


def _flat(document: Any) -> dict[str, str]:
    if not isinstance(document, dict):
        raise ValueError("no table of labels")
    return dict(flatten(document))
