"""Labels, and the metadata service on a loopback address."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from necroscope.model.labels import Labels
from necroscope.sources.host import Host
from necroscope.sources.instance import INSTANCE, parse_os_release, read_ec2_identity
from tests.sources.conftest import Content, Tree

DOCUMENT = {
    "accountId": "123456789012",
    "availabilityZone": "eu-west-1b",
    "imageId": "ami-0123456789abcdef0",
    "instanceId": "i-0123456789abcdef0",
    "instanceType": "g4dn.12xlarge",
    "region": "eu-west-1",
    "version": "2017-09-30",
    "kernelId": None,
    "billingProducts": ["bp-1"],
}
FILES: dict[str, Content] = {
    "/proc/sys/kernel/hostname": "node-1\n",
    "/proc/sys/kernel/osrelease": "5.4.0-99-generic\n",
    "/proc/sys/kernel/random/boot_id": "655d849e-d720-46ca-af41-82512ccdf80c\n",
    "/etc/os-release": '# a comment\nNAME="Ubuntu"\nPRETTY_NAME="Ubuntu 20.04.6 LTS"\n\nID=ubuntu\n',
    "/sys/devices/system/cpu/online": "0-1\n",
    "/sys/devices/system/cpu/possible": "0-95\n",
}


def test_labels_of_a_recorded_host(tree: Tree) -> None:
    assert INSTANCE.open(tree(FILES))().value == Labels(
        hostname="node-1",
        kernel="5.4.0-99-generic",
        boot_id="655d849e-d720-46ca-af41-82512ccdf80c",
        image="Ubuntu 20.04.6 LTS",
        cores_online=2,
        cores_possible=96,
    )


def test_an_image_has_its_own_name(tree: Tree) -> None:
    text = "PRETTY_NAME='Flatcar Linux'\nIMAGE_ID=node-image-7\n"
    labels = INSTANCE.open(tree({**FILES, "/etc/os-release": text}))().value
    assert labels
    assert labels.image == "node-image-7"
    assert parse_os_release(text)["PRETTY_NAME"] == "Flatcar Linux"


@pytest.mark.parametrize("content", ["", b"\xff\xfe\x00", "cut", None, 'A="'])
def test_what_cannot_be_read_is_unknown(tree: Tree, content: Content) -> None:
    assert INSTANCE.open(tree(dict.fromkeys(FILES, content)))().value == Labels()


class Service(ThreadingHTTPServer):
    """A metadata service: what it was asked, and what it answers by method and path."""

    daemon_threads = True

    def __init__(self, document: bytes, status: int, token_status: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.document, self.status, self.token_status = document, status, token_status
        self.asked: list[str] = []
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_PUT(self) -> None:
        service = self._note()
        lifetime = int(self.headers["X-aws-ec2-metadata-token-ttl-seconds"])
        right = self.path == "/latest/api/token" and 1 <= lifetime <= 21600
        self._answer(service.token_status if right else 400, b"the-token==")

    def do_GET(self) -> None:
        service = self._note()
        right = self.path == "/latest/dynamic/instance-identity/document"
        if self.headers["X-aws-ec2-metadata-token"] != "the-token==":
            self._answer(401, b"")
        else:
            self._answer(service.status if right else 404, service.document)

    def log_message(self, *_: object) -> None:
        pass

    def _note(self) -> Service:
        assert isinstance(self.server, Service)
        self.server.asked.append(self.command)
        return self.server

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


StartService = Callable[..., Service]


@pytest.fixture
def start_service(monkeypatch: pytest.MonkeyPatch) -> Iterator[StartService]:
    """Start a metadata service, and make it the one to ask."""
    started: list[Service] = []

    def start(document: bytes, *, status: int = 200, token_status: int = 200) -> Service:
        service = Service(document, status, token_status)
        started.append(service)
        monkeypatch.delenv("AWS_EC2_METADATA_DISABLED", raising=False)
        monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", f"http://127.0.0.1:{service.server_port}")
        return service

    yield start
    for service in started:
        service.shutdown()
        service.server_close()


def test_a_token_first_and_then_the_document(start_service: StartService) -> None:
    service = start_service(json.dumps(DOCUMENT).encode())
    labels = INSTANCE.open(Host())().value
    assert labels
    assert service.asked == ["PUT", "GET"]
    assert (labels.provider, labels.instance_id, labels.instance_type, labels.machine_image) == (
        *("ec2", "i-0123456789abcdef0", "g4dn.12xlarge", "ami-0123456789abcdef0"),
    )
    assert (labels.region, labels.zone) == ("eu-west-1", "eu-west-1b")
    assert labels.hostname


@pytest.mark.parametrize(
    ("document", "status", "token_status"),
    [
        (b"not found", 404, 200),
        (b"{", 200, 200),
        (b"\xff\xfe\x00", 200, 200),
        (b"", 200, 200),
        (b"[1, 2]", 200, 200),
        (b'"text"', 200, 200),
        (b"null", 200, 200),
        (json.dumps(DOCUMENT).encode(), 500, 200),
        (b"{}", 200, 403),
    ],
)
def test_an_answer_that_does_not_help(
    start_service: StartService, document: bytes, status: int, token_status: int
) -> None:
    start_service(document, status=status, token_status=token_status)
    labels = INSTANCE.open(Host())().value
    assert labels
    assert (labels.provider, labels.instance_id, labels.zone) == ("", "", "")


def test_switched_off(start_service: StartService, monkeypatch: pytest.MonkeyPatch) -> None:
    service = start_service(json.dumps(DOCUMENT).encode())
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "TRUE")
    labels = INSTANCE.open(Host())().value
    assert labels
    assert (labels.provider, service.asked) == ("", [])


def test_a_recorded_tree_asks_nobody(start_service: StartService, tree: Tree) -> None:
    service = start_service(json.dumps(DOCUMENT).encode())
    assert INSTANCE.open(tree({**FILES, "/sys/class/dmi/id/sys_vendor": "Amazon EC2\n"}))().value
    assert service.asked == []


@pytest.mark.parametrize("file", ["/sys/class/dmi/id/sys_vendor", "/sys/hypervisor/uuid"])
def test_the_firmware_says_where_we_are(tree: Tree, monkeypatch: pytest.MonkeyPatch, file: str) -> None:
    """Only then is anything asked: here, instead of the network, a function of ours."""
    monkeypatch.delenv("AWS_EC2_METADATA_DISABLED")
    monkeypatch.setattr("necroscope.sources.instance.read_ec2_identity", lambda: {"region": "asked"})
    regions = []
    for text in ("QEMU\n", "Amazon EC2\n" if "dmi" in file else "ec2e1916-9099-7caf-fd21-012345abcdef\n"):
        host = tree({**FILES, file: text})
        object.__setattr__(host, "is_live", True)
        labels = INSTANCE.open(host)().value
        regions.append(labels and labels.region)
    assert regions == ["", "asked"]


@pytest.mark.parametrize("says", [b"", b"HTTP/1.1 200 OK\r\nContent-Le"], ids=["nothing", "a beginning"])
def test_a_service_that_never_answers(monkeypatch: pytest.MonkeyPatch, says: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", address)
        clients: list[socket.socket] = []

        def serve() -> None:
            clients.append(listener.accept()[0])
            clients[0].sendall(says)

        thread = threading.Thread(target=serve)
        thread.start()
        began = time.monotonic()
        assert read_ec2_identity() == {}
        assert time.monotonic() - began < 1.5
        thread.join()
        clients[0].close()


@pytest.mark.parametrize(
    "says", [b"", b"rubbish\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nab"]
)
def test_a_service_that_hangs_up(monkeypatch: pytest.MonkeyPatch, says: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", address)

        def serve() -> None:
            with listener.accept()[0] as client:
                client.recv(1 << 16)
                client.sendall(says)

        thread = threading.Thread(target=serve)
        thread.start()
        assert read_ec2_identity() == {}
        thread.join()


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:port", "http://[::1", "http://127.0.0.1:99999", "http://a b"]
)
def test_an_address_that_is_none(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", address)
    assert read_ec2_identity() == {}


def test_this_machine() -> None:
    labels = INSTANCE.open(Host())().value
    assert labels
    assert labels.kernel == Path("/proc/sys/kernel/osrelease").read_text().strip()
    assert 0 < labels.cores_online <= labels.cores_possible
