"""Google's cloud: its metadata server, asked for single values.

All at once would be one request, and hand us what people keep in the attributes of a machine.
GCE_METADATA_HOST=HOST:PORT names another server, NO_GCE_CHECK=true switches it off, as with Google's tools.
"""

from __future__ import annotations

import os

from necroscope.sources.cloud.identity import Identity
from necroscope.sources.host import Host
from necroscope.sources.http_client import HttpClient, UnansweredError, brief_client

# Its name, metadata.google.internal, would first have to be asked for, which has no time limit.
SERVER = "169.254.169.254"
ADDRESS_BY = "GCE_METADATA_HOST"
OFF_BY = "NO_GCE_CHECK"
FLAVOR = {"Metadata-Flavor": "Google"}


def is_gcp(host: Host) -> bool:
    """Whether the firmware says so, or somebody names the server."""
    product = host.word("/sys/class/dmi/id/product_name")
    return bool(os.environ.get(ADDRESS_BY)) or product in ("Google Compute Engine", "Google")


def ask_gcp() -> Identity:
    """What the server says. UnansweredError: nothing that helps."""
    with brief_client(f"http://{os.environ.get(ADDRESS_BY) or SERVER}") as server:
        zone = _last(_value(server, "zone"))  # projects/123/zones/europe-west1-b
        return Identity(
            provider="gcp",
            instance_id=_value(server, "id"),
            instance_type=_last(_value(server, "machine-type")),
            machine_image=_value(server, "image"),
            region=zone.rpartition("-")[0],
            zone=zone,
            address=_value(server, "network-interfaces/0/ip"),
        )


def _value(server: HttpClient, name: str) -> str:
    """One value; a proxy that answers everything is told by a header that it does not send."""
    reply = server.ask("GET", f"/computeMetadata/v1/instance/{name}", FLAVOR).require_ok()
    if reply.headers.get("metadata-flavor") != "Google":
        raise UnansweredError("not Google's metadata server")
    return reply.text()


def _last(path: str) -> str:
    return path.rpartition("/")[2]
