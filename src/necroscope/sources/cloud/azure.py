"""Azure: its instance metadata service.

AZURE_METADATA_SERVICE_ENDPOINT names another service, AZURE_METADATA_DISABLED=true switches it off.
"""

from __future__ import annotations

import os
from typing import Any

from necroscope.sources.cloud.identity import Identity, text_of
from necroscope.sources.host import Host
from necroscope.sources.http_client import UnansweredError, brief_client

ENDPOINT = "http://169.254.169.254"
ADDRESS_BY = "AZURE_METADATA_SERVICE_ENDPOINT"
OFF_BY = "AZURE_METADATA_DISABLED"
ASSET_TAG = "7783-7084-3265-9085-8269-3286-77"  # of the chassis of every machine there, and of no other
QUESTION = "/metadata/instance?api-version=2021-02-01"


def is_azure(host: Host) -> bool:
    """Whether the firmware says so, or somebody names the service."""
    tag = host.word("/sys/class/dmi/id/chassis_asset_tag")
    return bool(os.environ.get(ADDRESS_BY)) or tag == ASSET_TAG


def ask_azure() -> Identity:
    """What the service says. UnansweredError: nothing that helps."""
    with brief_client(os.environ.get(ADDRESS_BY) or ENDPOINT) as service:
        document = service.ask("GET", QUESTION, {"Metadata": "true"}).require_ok().json()
    compute = document.get("compute") if isinstance(document, dict) else None
    if not isinstance(compute, dict):
        raise UnansweredError("no description of a machine")
    region, zone = text_of(compute, "location"), text_of(compute, "zone")
    network = ("network", "interface", 0, "ipv4", "ipAddress", 0, "privateIpAddress")
    return Identity(
        provider="azure",
        instance_id=text_of(compute, "vmId"),
        instance_type=text_of(compute, "vmSize"),
        machine_image=_image(compute),
        region=region,
        # The service says "1"; with the region, as Kubernetes has it, zones of two regions differ.
        zone=f"{region}-{zone}" if region and zone else "",
        address=text_of(document, *network),
    )


def _image(compute: dict[str, Any]) -> str:
    """The id of an image of one's own, or what the marketplace calls it."""
    place = ("storageProfile", "imageReference")
    parts = [text_of(compute, *place, name) for name in ("publisher", "offer", "sku", "version")]
    return text_of(compute, *place, "id") or ":".join(filter(None, parts))
