"""Which machine this is: host name, kernel, boot, image, and the cloud's labels.

Reads    /proc/sys/kernel, /etc/os-release, /sys/devices/system/cpu; on EC2 the metadata service (IMDSv2)
Needs    nothing; the metadata service needs a hop limit of 2 from inside a container
Costs    some small reads; on EC2 two requests on the link-local address, 0.5 s at most, once

Nothing is asked over the network unless the firmware says that this is EC2, or
AWS_EC2_METADATA_SERVICE_ENDPOINT names a service. AWS_EC2_METADATA_DISABLED=true switches it off.
"""

from __future__ import annotations

import json
import math
import os
import shlex
from urllib.parse import urlsplit

from necroscope.model.labels import Labels
from necroscope.model.reading import Reading
from necroscope.sources.host import Host, only_line, parse_core_list
from necroscope.sources.source import Read, Source

METADATA_ENDPOINT = "http://169.254.169.254"
METADATA_TIMEOUT_SECONDS = 0.5


def parse_os_release(text: str) -> dict[str, str]:
    """The fields of /etc/os-release."""
    fields = {}
    for line in text.splitlines():
        name, separator, value = line.partition("=")
        if separator and not name.startswith("#"):
            fields[name] = " ".join(shlex.split(value))
    return fields


def open_instance(host: Host) -> Read[Labels]:
    """A reader of the host's labels; what is unknown stays empty."""

    def read() -> Reading[Labels]:
        release = host.read("/etc/os-release").parsed(parse_os_release).value or {}
        cloud = read_ec2_identity() if _on_ec2(host) else {}
        return Reading(
            Labels(
                hostname=host.name(),
                kernel=host.word("/proc/sys/kernel/osrelease"),
                boot_id=host.word("/proc/sys/kernel/random/boot_id"),
                image=release.get("IMAGE_ID") or release.get("PRETTY_NAME", ""),
                cores_online=_count_cores(host, "online"),
                cores_possible=_count_cores(host, "possible"),
                provider="ec2" if cloud else "",
                instance_id=cloud.get("instanceId", ""),
                instance_type=cloud.get("instanceType", ""),
                machine_image=cloud.get("imageId", ""),
                region=cloud.get("region", ""),
                zone=cloud.get("availabilityZone", ""),
            )
        )

    return read


def read_ec2_identity() -> dict[str, str]:
    """The instance identity document of IMDSv2; empty where nothing answers in time."""
    # Imported here: with mail and TLS behind it, it takes 30 ms and 4 MB of everybody else.
    import http.client

    try:
        address = urlsplit(os.environ.get("AWS_EC2_METADATA_SERVICE_ENDPOINT") or METADATA_ENDPOINT)
        door = http.client.HTTPConnection(
            address.hostname or "", address.port or 80, timeout=METADATA_TIMEOUT_SECONDS
        )
    except (ValueError, http.client.HTTPException):  # not an address
        return {}
    try:
        door.request("PUT", "/latest/api/token", headers={"X-aws-ec2-metadata-token-ttl-seconds": "60"})
        token = door.getresponse().read().decode()
        door.request(
            "GET", "/latest/dynamic/instance-identity/document", headers={"X-aws-ec2-metadata-token": token}
        )
        answer = door.getresponse()
        document = json.loads(answer.read()) if answer.status == 200 else {}
    except (OSError, http.client.HTTPException, ValueError):
        return {}
    finally:
        door.close()
    fields = document.items() if isinstance(document, dict) else ()
    return {name: value for name, value in fields if isinstance(value, str)}


def _on_ec2(host: Host) -> bool:
    if not host.is_live or os.environ.get("AWS_EC2_METADATA_DISABLED", "").lower() == "true":
        return False
    if os.environ.get("AWS_EC2_METADATA_SERVICE_ENDPOINT"):
        return True
    vendor = host.word("/sys/class/dmi/id/sys_vendor")
    return vendor == "Amazon EC2" or host.word("/sys/hypervisor/uuid").startswith("ec2")


def _count_cores(host: Host, which: str) -> int:
    cores = host.read(f"/sys/devices/system/cpu/{which}").parsed(only_line).parsed(parse_core_list)
    return len(cores.value or ())


INSTANCE = Source("instance", open_instance, pace_seconds=math.inf)
