"""What a cloud or a cluster calls a machine, by the same names everywhere."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Identity:
    """An empty string is unknown."""

    provider: str = ""
    instance_id: str = ""
    instance_type: str = ""
    machine_image: str = ""
    region: str = ""
    zone: str = ""
    address: str = ""


NOBODY = Identity()


def text_of(document: object, *path: str | int) -> str:
    """The text or number at a path into JSON; empty where there is none, or something else."""
    for step in path:
        if isinstance(document, dict) and isinstance(step, str):
            document = document.get(step)
        elif isinstance(document, list) and isinstance(step, int) and step < len(document):
            document = document[step]
        else:
            return ""
    is_plain = isinstance(document, str | int) and not isinstance(document, bool)
    return str(document) if is_plain else ""
