"""EC2, GCP and Azure by real HTTP services on a loopback address: right, wrong, slow and endless answers."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import pytest

from necroscope.sources import http_client
from necroscope.sources.cloud import CLOUDS, NOBODY, Identity, ask_azure, ask_cloud, ask_ec2, ask_gcp
from necroscope.sources.host import Host
from necroscope.sources.http_client import MAX_BRIEF_BYTES, UnansweredError
from tests.sources.conftest import Tree
from tests.sources.metadata_services import Answer, Answers, always, serving, trickling

EC2 = {
    "accountId": "123456789012",
    "availabilityZone": "eu-west-1b",
    "imageId": "ami-0123456789abcdef0",
    "instanceId": "i-0123456789abcdef0",
    "instanceType": "g4dn.12xlarge",
    "privateIp": "10.158.112.84",
    "region": "eu-west-1",
    "kernelId": None,
    "billingProducts": ["bp-1"],
}
GCP = {
    "zone": "projects/123/zones/europe-west1-b",
    "id": "4520031799277581759",
    "machine-type": "projects/123/machineTypes/a2-highgpu-8g",
    "image": "projects/debian-cloud/global/images/debian-12-bookworm-v20260101",
    "network-interfaces/0/ip": "10.132.0.7",
}
AZURE = {
    "compute": {
        "location": "westeurope",
        "vmId": "02aab8a4-74ef-476e-8182-f6d2ba4166a6",
        "vmSize": "Standard_ND96asr_v4",
        "zone": "2",
        "userData": "c2VjcmV0",
        "storageProfile": {
            "imageReference": {"offer": "ubuntu", "publisher": "Canonical", "sku": "22", "version": "1"}
        },
    },
    "network": {"interface": [{"ipv4": {"ipAddress": [{"privateIpAddress": "10.0.0.4"}]}}]},
}
ASK = {"ec2": ask_ec2, "gcp": ask_gcp, "azure": ask_azure}
ADDRESS = {
    "ec2": ("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://"),
    "gcp": ("GCE_METADATA_HOST", ""),
    "azure": ("AZURE_METADATA_SERVICE_ENDPOINT", "http://"),
}
each_cloud = pytest.mark.parametrize("cloud", ASK)


def ec2(method: str, path: str, headers: Mapping[str, str]) -> Answer:
    if (method, path) == ("PUT", "/latest/api/token"):
        is_right = 1 <= int(headers["x-aws-ec2-metadata-token-ttl-seconds"]) <= 21600
        return (200 if is_right else 400), b"the-token==", {}
    if headers.get("x-aws-ec2-metadata-token") != "the-token==":
        return 401, b"", {}
    return 200, json.dumps(EC2).encode(), {}


def gcp(_: str, path: str, headers: Mapping[str, str]) -> Answer:
    value = GCP.get(path.removeprefix("/computeMetadata/v1/instance/"))
    if headers.get("metadata-flavor") != "Google" or value is None:
        return 403, b"", {}
    return 200, f"{value}\n".encode(), {"Metadata-Flavor": "Google"}


def azure(_: str, path: str, headers: Mapping[str, str]) -> Answer:
    is_right = path == "/metadata/instance?api-version=2021-02-01" and headers.get("metadata") == "true"
    return (200 if is_right else 400), json.dumps(AZURE).encode(), {}


RIGHT: dict[str, Answers] = {"ec2": ec2, "gcp": gcp, "azure": azure}


@pytest.fixture
def name_service(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Make a service the one to be asked."""

    def name(cloud: str, place: str) -> None:
        variable, scheme = ADDRESS[cloud]
        monkeypatch.setenv(variable, scheme + place)
        for one in CLOUDS:
            monkeypatch.delenv(one.off_by, raising=False)

    return name


NameService = Callable[[str, str], None]


@pytest.mark.parametrize(
    ("cloud", "expected"),
    [
        (
            "ec2",
            Identity(
                *("ec2", "i-0123456789abcdef0", "g4dn.12xlarge", "ami-0123456789abcdef0"),
                *("eu-west-1", "eu-west-1b", "10.158.112.84"),
            ),
        ),
        (
            "gcp",
            Identity(
                *("gcp", "4520031799277581759", "a2-highgpu-8g", GCP["image"]),
                *("europe-west1", "europe-west1-b", "10.132.0.7"),
            ),
        ),
        (
            "azure",
            Identity(
                *("azure", "02aab8a4-74ef-476e-8182-f6d2ba4166a6", "Standard_ND96asr_v4"),
                *("Canonical:ubuntu:22:1", "westeurope", "westeurope-2", "10.0.0.4"),
            ),
        ),
    ],
)
def test_what_each_cloud_says(name_service: NameService, cloud: str, expected: Identity) -> None:
    with serving(RIGHT[cloud]) as service:
        name_service(cloud, service.place)
        assert ask_cloud(Host()) == (expected, "")
        paths = [path for _, path, _ in service.asked]
        assert len(paths) == len(set(paths)), "asked once"


@each_cloud
@pytest.mark.parametrize(
    "answers",
    [
        always(404, b"not found"),
        always(500, b"{}"),
        always(200, b""),
        always(200, b"{"),
        always(200, b"\xff\xfe\x00"),
        always(200, b"<html><body>Sign in to the network</body></html>", Content_Type="text/html"),
        always(200, b"[1, 2]"),
        always(200, b"null"),
        always(200, b"[" * 100_000),
        always(200, b"x" * (MAX_BRIEF_BYTES + 1)),
        always(302, b"", Location="http://127.0.0.1:1/elsewhere"),
        always(200, b"{}", Transfer_Encoding="chunked"),
    ],
    ids=[
        *("not found", "broken", "empty", "cut", "binary", "html", "a list", "null", "deep", "huge"),
        *("elsewhere", "no chunks"),
    ],
)
def test_an_answer_that_does_not_help(
    name_service: NameService, monkeypatch: pytest.MonkeyPatch, cloud: str, answers: Answers
) -> None:
    monkeypatch.setattr(http_client, "BRIEF_SECONDS", 0.2)
    with serving(answers) as service:
        name_service(cloud, service.place)
        identity, why = ask_cloud(Host())
        assert identity == NOBODY
        assert "did not answer" in why


def test_a_redirect_is_not_followed(name_service: NameService) -> None:
    with serving(azure) as elsewhere:
        place = f"http://{elsewhere.place}/metadata/instance?api-version=2021-02-01"
        with serving(always(302, b"", Location=place)) as service:
            name_service("azure", service.place)
            assert ask_cloud(Host())[0] == NOBODY
        assert elsewhere.asked == []


@each_cloud
def test_a_service_that_hangs_up_behind_each_answer(name_service: NameService, cloud: str) -> None:
    def closing(*asked: Any) -> Answer:
        status, body, headers = RIGHT[cloud](*asked)
        return status, body, {**headers, "Connection": "close"}

    with serving(closing) as service:
        name_service(cloud, service.place)
        identity, why = ask_cloud(Host())
        assert (identity.provider, bool(identity.address), why) == (cloud, True, "")


@contextmanager
def silent() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@contextmanager
def full() -> Iterator[str]:
    """A service that does not even accept: what it can hold in waiting is taken."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(3):
            client = stack.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(listener.getsockname())
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@each_cloud
@pytest.mark.parametrize(
    "service",
    [
        silent,
        full,
        lambda: trickling(b"HTTP/1.1 200 OK\r\n", b"X-More: and more\r\n"),
        lambda: trickling(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", b" "),
        lambda: trickling(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    ],
    ids=["silent", "full", "endless headers", "a slow body", "endless chunks"],
)
def test_half_a_second_and_no_more(
    name_service: NameService,
    monkeypatch: pytest.MonkeyPatch,
    cloud: str,
    service: Callable[[], AbstractContextManager[str]],
) -> None:
    assert http_client.BRIEF_SECONDS == 0.5
    monkeypatch.setattr(http_client, "BRIEF_SECONDS", 0.2)
    with service() as place:
        name_service(cloud, place)
        began = time.monotonic()
        with pytest.raises(UnansweredError):
            ASK[cloud]()
        assert 0.1 < time.monotonic() - began < 5


@each_cloud
@pytest.mark.parametrize("place", ["127.0.0.1:port", "[::1", "127.0.0.1:99999", "a b", "127.0.0.1:1", "\x7f"])
def test_an_address_that_is_none(name_service: NameService, cloud: str, place: str) -> None:
    name_service(cloud, place)
    with pytest.raises(UnansweredError):
        ASK[cloud]()


@each_cloud
def test_switched_off(name_service: NameService, monkeypatch: pytest.MonkeyPatch, cloud: str) -> None:
    with serving(RIGHT[cloud]) as service:
        name_service(cloud, service.place)
        for one in CLOUDS:
            monkeypatch.setenv(one.off_by, "TRUE")
        assert ask_cloud(Host()) == (NOBODY, "")
        assert service.asked == []


@each_cloud
def test_a_recorded_tree_asks_nobody(name_service: NameService, tree: Tree, cloud: str) -> None:
    with serving(RIGHT[cloud]) as service:
        name_service(cloud, service.place)
        assert ask_cloud(tree({"/sys/class/dmi/id/sys_vendor": "Amazon EC2\n"})) == (NOBODY, "")
        assert service.asked == []


@pytest.mark.parametrize(
    ("file", "text", "name"),
    [
        ("/sys/class/dmi/id/sys_vendor", "Amazon EC2\n", "EC2"),
        ("/sys/hypervisor/uuid", "ec2e1916-9099-7caf-fd21-012345abcdef\n", "EC2"),
        ("/sys/class/dmi/id/product_name", "Google Compute Engine\n", "GCP"),
        ("/sys/class/dmi/id/chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77\n", "Azure"),
        ("/sys/class/dmi/id/sys_vendor", "QEMU\n", ""),
        ("/sys/class/dmi/id/product_name", "Standard PC\n", ""),
    ],
)
def test_the_firmware_says_who_is_asked(tree: Tree, file: str, text: str, name: str) -> None:
    host = tree({file: text})
    assert [cloud.name for cloud in CLOUDS if cloud.is_here(host)] == [name] * bool(name)
