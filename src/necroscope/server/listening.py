"""Where the server may listen: on this machine for everybody, elsewhere with a token and an encrypted way."""

from __future__ import annotations

import ipaddress
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path

from necroscope.errors import CannotListenError, UsageError
from necroscope.server.connection_limits import Connections, Listener

BACKLOG = 128
ELSEWHERE = "--token-file FILE, and either --certificate FILE --key FILE or --behind-proxy"


@dataclass(frozen=True, slots=True)
class ListenConfig:
    """An address to listen on, and what stands before it."""

    host: str
    port: int
    has_token: bool = False
    certificate: Path | None = None
    key: Path | None = None
    is_behind_proxy: bool = False

    @property
    def has_tls(self) -> bool:
        """Whether we encrypt ourselves."""
        return self.certificate is not None


def check_listen_config(config: ListenConfig) -> None:
    """UsageError where strangers could come in, or read what is sent."""
    if (config.certificate is None) != (config.key is None):
        raise UsageError("--certificate and --key belong together")
    if config.has_tls and config.is_behind_proxy:
        raise UsageError(
            "--behind-proxy and --certificate exclude each other", hint="the proxy has the certificate"
        )
    if config.is_behind_proxy and not config.has_token:
        raise UsageError("--behind-proxy lets others in: a token is needed", hint="--token-file FILE")
    if is_loopback(config):
        return
    if not config.has_token or not (config.has_tls or config.is_behind_proxy):
        what = (
            f"{config.host} can be reached from elsewhere: a token is needed, and TLS or a proxy that has it"
        )
        raise UsageError(what, hint=ELSEWHERE)


def is_loopback(config: ListenConfig) -> bool:
    """Whether only this machine can reach it."""
    return ipaddress.ip_address(resolved(config)[1][0].partition("%")[0]).is_loopback


def resolved(config: ListenConfig) -> tuple[socket.AddressFamily, tuple[str, int]]:
    """The one address that a name stands for; it is the one that is listened on, too."""
    try:
        found = socket.getaddrinfo(config.host, config.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise CannotListenError(
            f"cannot listen on {config.host}: {why}", hint="--listen 127.0.0.1:8420"
        ) from error
    family, *_, address = min(found, key=lambda entry: entry[0] != socket.AF_INET)
    return family, (str(address[0]), int(address[1]))


def open_listener(config: ListenConfig, connections: Connections) -> Listener:
    """Listen; port 0 is any free one, which the listener tells."""
    family, address = resolved(config)
    listener = Listener(family, socket.SOCK_STREAM)
    listener.connections = connections
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        what = f"cannot listen on {config.host} port {config.port}: {error.strerror}"
        raise CannotListenError(
            what, hint="--listen HOST:PORT names another; port 0 is any free one"
        ) from error
    return listener


def tls_of(config: ListenConfig) -> ssl.SSLContext | None:
    """The certificate and key, ready to use."""
    if config.certificate is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(
            config.certificate, config.key, password=""
        )  # or it would ask on the terminal
    except (OSError, ValueError) as error:  # an SSLError is an OSError
        why = getattr(error, "strerror", None) or str(error)
        what = f"cannot use the certificate {config.certificate} with the key {config.key}: {why}"
        raise CannotListenError(what, hint="both as PEM files, the key without a password") from error
    return context
