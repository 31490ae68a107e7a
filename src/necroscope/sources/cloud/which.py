"""Which cloud this machine is in, by its firmware, and what that cloud calls it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from necroscope.sources.cloud import azure, ec2, gcp
from necroscope.sources.cloud.identity import NOBODY, Identity
from necroscope.sources.host import Host
from necroscope.sources.http_client import UnansweredError


@dataclass(frozen=True, slots=True)
class Cloud:
    """One that can be asked."""

    name: str
    is_here: Callable[[Host], bool]
    ask: Callable[[], Identity]
    off_by: str  # an environment variable


CLOUDS = (
    Cloud("EC2", ec2.is_ec2, ec2.ask_ec2, ec2.OFF_BY),
    Cloud("GCP", gcp.is_gcp, gcp.ask_gcp, gcp.OFF_BY),
    Cloud("Azure", azure.is_azure, azure.ask_azure, azure.OFF_BY),
)


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
