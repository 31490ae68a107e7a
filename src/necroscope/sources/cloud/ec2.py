"""EC2: the instance identity document of its metadata service, by a token (IMDSv2).

AWS_EC2_METADATA_SERVICE_ENDPOINT names another service, AWS_EC2_METADATA_DISABLED=true switches it off.
From inside a container the service answers only with a hop limit of 2.
"""

from __future__ import annotations

import os

from necroscope.sources.cloud.identity import Identity, text_of
from necroscope.sources.host import Host
from necroscope.sources.http_client import brief_client

ENDPOINT = "http://169.254.169.254"
ADDRESS_BY = "AWS_EC2_METADATA_SERVICE_ENDPOINT"
OFF_BY = "AWS_EC2_METADATA_DISABLED"


def is_ec2(host: Host) -> bool:
    """Whether the firmware says so, or somebody names the service."""
    vendor = host.word("/sys/class/dmi/id/sys_vendor")
    return (
        bool(os.environ.get(ADDRESS_BY))
        or vendor == "Amazon EC2"
        or host.word("/sys/hypervisor/uuid").startswith("ec2")
    )


def ask_ec2() -> Identity:
    """What the service says. UnansweredError: nothing that helps."""
    with brief_client(os.environ.get(ADDRESS_BY) or ENDPOINT) as service:
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
