from __future__ import annotations

import socket
import ssl
import subprocess
from pathlib import Path

import pytest

from necroscope.errors import CannotListenError, UsageError
from necroscope.server.connection_limits import Connections
from necroscope.server.listening import ListenConfig, check_listen_config, is_loopback, open_listener, tls_of

FILE = Path("file")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_this_machine_needs_nothing(host: str) -> None:
    check_listen_config(ListenConfig(host, 8420))
    assert is_loopback(ListenConfig(host, 8420))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.7", "::ffff:10.0.0.7", "0"])
@pytest.mark.parametrize(
    "has",
    [
        {},
        {"has_token": True},
        {"certificate": FILE, "key": FILE},
        {"is_behind_proxy": True},
    ],
)
def test_elsewhere_needs_a_token_and_an_encrypted_way(host: str, has: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="token") as raised:
        check_listen_config(ListenConfig(host, 8420, **has))  # type: ignore[arg-type]  # one of the above
    assert "--token-file" in raised.value.hint


def test_elsewhere_with_both() -> None:
    check_listen_config(ListenConfig("0.0.0.0", 8420, True, FILE, FILE))
    check_listen_config(ListenConfig("0.0.0.0", 8420, True, is_behind_proxy=True))


@pytest.mark.parametrize(
    "config",
    [
        ListenConfig("127.0.0.1", 1, True, certificate=FILE),
        ListenConfig("127.0.0.1", 1, True, key=FILE),
        ListenConfig("127.0.0.1", 1, True, FILE, FILE, is_behind_proxy=True),
        ListenConfig("127.0.0.1", 1, is_behind_proxy=True),
    ],
)
def test_what_does_not_go_together(config: ListenConfig) -> None:
    with pytest.raises(UsageError):
        check_listen_config(config)


def test_port_0_is_any_free_one() -> None:
    with open_listener(ListenConfig("127.0.0.1", 0), Connections()) as listener:
        assert listener.getsockname()[1] > 0


def test_a_port_in_use_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(CannotListenError, match=f"port {port}: Address already in use"):
            open_listener(ListenConfig("127.0.0.1", port), Connections())


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-host.invalid", "a" * 300])
def test_an_address_that_is_not_ours(host: str) -> None:
    with pytest.raises(CannotListenError):
        open_listener(ListenConfig(host, 0), Connections())


def test_certificates(tmp_path: Path) -> None:
    certificate, key = made_certificate(tmp_path)
    assert isinstance(tls_of(ListenConfig("127.0.0.1", 1, True, certificate, key)), ssl.SSLContext)
    assert tls_of(ListenConfig("127.0.0.1", 1)) is None
    for config in (
        ListenConfig("127.0.0.1", 1, True, key, certificate),
        ListenConfig("127.0.0.1", 1, True, tmp_path / "missing", key),
    ):
        with pytest.raises(CannotListenError, match="cannot use the certificate"):
            tls_of(config)


def made_certificate(folder: Path) -> tuple[Path, Path]:
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
    ]
    more = ["-subj", "/CN=localhost", "-days", "2", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*command, *more], check=True, capture_output=True)
    return certificate, key
