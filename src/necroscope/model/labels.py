"""What a host is, in words that can be compared across a fleet."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Labels:
    """Where a recording comes from. An empty string is unknown, never a default."""

    hostname: str = ""
    kernel: str = ""
    boot_id: str = ""
    image: str = ""  # the operating system image
    cores_online: int = 0
    cores_possible: int = 0  # what per-CPU kernel memory is paid for
    provider: str = ""
    instance_id: str = ""
    instance_type: str = ""
    machine_image: str = ""  # the cloud's image id
    region: str = ""
    zone: str = ""
