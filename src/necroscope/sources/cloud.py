"""Which cloud this machine is in, by its firmware, and what the metadata service there says of it.

    EC2      the instance identity document, by a token (IMDSv2); from inside a container the service answers
             only with a hop limit of 2
    GCP      single values: all at once would hand us what people keep in the attributes of a machine
    Azure    the instance metadata service

Environment variables name another service, or switch one off, as the tools of each cloud have it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from necroscope.sources.host import Host
from necroscope.sources.http_client import HttpClient, UnansweredError, brief_client

SERVICE = "169.254.169.254"  # in all three. A name would first have to be asked for, without a time limit
EC2_AT, GCP_AT, AZURE_AT = (
    "AWS_EC2_METADATA_SERVICE_ENDPOINT",
    "GCE_METADATA_HOST",
    "AZURE_METADATA_SERVICE_ENDPOINT",
)
AZURE_TAG = "7783-7084-3265-9085-8269-3286-77"  # of the chassis of every machine there, and of no other


@dataclass(frozen=True, slots=True)
class Identity:
    """What a cloud or a cluster calls a machine, by the same names everywhere. Empty is unknown."""

    provider: str = ""
    instance_id: str = ""
    instance_type: str = ""
    machine_image: str = ""
    region: str = ""
    zone: str = ""
    address: str = ""


NOBODY = Identity()


@dataclass(frozen=True, slots=True)
class Cloud:
    """One that can be asked."""

    name: str
    is_here: Callable[[Host], bool]
    ask: Callable[[], Identity]
    off_by: str  # an environment variable


def ask_cloud(host: Host) -> tuple[Identity, str]:
    """What this machine is there, and why that is not known; without a reason: it is in none of them."""
    if not host.is_live:
        return NOBODY, ""
    for cloud in CLOUDS:
        if os.environ.get(cloud.off_by, "").lower() == "true" or not cloud.is_here(host):
            continue
        try:
            identity = cloud.ask()
        except UnansweredError as error:
            return NOBODY, f"the metadata service did not answer ({cloud.name}: {error})"
        if not identity.instance_id:
            return NOBODY, f"the metadata service did not answer ({cloud.name}: it names no machine)"
        return identity, ""
    return NOBODY, ""


def is_ec2(host: Host) -> bool:
    """Whether the firmware says so, or somebody names the service."""
    vendor = host.word("/sys/class/dmi/id/sys_vendor")
    return (
        bool(os.environ.get(EC2_AT))
        or vendor == "Amazon EC2"
        or host.word("/sys/hypervisor/uuid").startswith("ec2")
    )


def ask_ec2() -> Identity:
    """What the service says. UnansweredError: nothing that helps."""
    with brief_client(os.environ.get(EC2_AT) or f"http://{SERVICE}") as service:
        ttl = {"X-aws-ec2-metadata-token-ttl-seconds": "60"}
        token = {"X-aws-ec2-metadata-token": service.ask("PUT", "/latest/api/token", ttl).require_ok().text()}
        path = "/latest/dynamic/instance-identity/document"
        document = service.ask("GET", path, token).require_ok().json()
    return Identity(
        provider="ec2",
        instance_id=text_of(document, "instanceId"),
        instance_type=text_of(document, "instanceType"),
        machine_image=text_of(document, "imageId"),
        region=text_of(document, "region"),
        zone=text_of(document, "availabilityZone"),
        address=text_of(document, "privateIp"),
    )


def is_gcp(host: Host) -> bool:
    """Whether the firmware says so, or somebody names the server."""
    product = host.word("/sys/class/dmi/id/product_name")
    return bool(os.environ.get(GCP_AT)) or product in ("Google Compute Engine", "Google")


def ask_gcp() -> Identity:
    """What the server says. UnansweredError: nothing that helps."""
    with brief_client(f"http://{os.environ.get(GCP_AT) or SERVICE}") as server:
        zone = _last_part(_gcp_value(server, "zone"))  # projects/123/zones/europe-west1-b
        return Identity(
            provider="gcp",
            instance_id=_gcp_value(server, "id"),
            instance_type=_last_part(_gcp_value(server, "machine-type")),
            machine_image=_gcp_value(server, "image"),
            region=zone.rpartition("-")[0],
            zone=zone,
            address=_gcp_value(server, "network-interfaces/0/ip"),
        )


def _gcp_value(server: HttpClient, name: str) -> str:
    """One value; a proxy that answers everything is told by a header that it does not send."""
    flavor = {"Metadata-Flavor": "Google"}
    reply = server.ask("GET", f"/computeMetadata/v1/instance/{name}", flavor).require_ok()
    if reply.headers.get("metadata-flavor") != "Google":
        raise UnansweredError("not Google's metadata server")
    return reply.text()


def _last_part(path: str) -> str:
    return path.rpartition("/")[2]


def is_azure(host: Host) -> bool:
    """Whether the firmware says so, or somebody names the service."""
    tag = host.word("/sys/class/dmi/id/chassis_asset_tag")
    return bool(os.environ.get(AZURE_AT)) or tag == AZURE_TAG


def ask_azure() -> Identity:
    """What the service says. UnansweredError: nothing that helps."""
    with brief_client(os.environ.get(AZURE_AT) or f"http://{SERVICE}") as service:
        path = "/metadata/instance?api-version=2021-02-01"
        document = service.ask("GET", path, {"Metadata": "true"}).require_ok().json()
    compute = document.get("compute") if isinstance(document, dict) else None
    if not isinstance(compute, dict):
        raise UnansweredError("no description of a machine")
    region, zone = text_of(compute, "location"), text_of(compute, "zone")
    network = ("network", "interface", 0, "ipv4", "ipAddress", 0, "privateIpAddress")
    return Identity(
        provider="azure",
        instance_id=text_of(compute, "vmId"),
        instance_type=text_of(compute, "vmSize"),
        machine_image=_azure_image(compute),
        region=region,
        # The service says "1"; with the region, as Kubernetes has it, zones of two regions differ.
        zone=f"{region}-{zone}" if region and zone else "",
        address=text_of(document, *network),
    )


def _azure_image(compute: dict[str, Any]) -> str:
    """The id of an image of one's own, or what the marketplace calls it."""
    place = ("storageProfile", "imageReference")
    parts = [text_of(compute, *place, name) for name in ("publisher", "offer", "sku", "version")]
    return text_of(compute, *place, "id") or ":".join(filter(None, parts))


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


CLOUDS = (
    Cloud("EC2", is_ec2, ask_ec2, off_by="AWS_EC2_METADATA_DISABLED"),
    Cloud("GCP", is_gcp, ask_gcp, off_by="NO_GCE_CHECK"),
    Cloud("Azure", is_azure, ask_azure, off_by="AZURE_METADATA_DISABLED"),
)
