"""Which of a unit's connections show that somebody has a use for it."""

from __future__ import annotations

import re

# Every instance of a cloud can ask these; they are not who an agent works for.
NO_PEER = re.compile(
    r"tcp (169\.254\.169\.254|\[?fd00:ec2::254\]?|\[?fd20:ce::254\]?|168\.63\.129\.16):.*"
    r"|tcp .*:53( .*)?"  # nor is a name server
)


def is_peer(call: str) -> bool:
    """Whether one is connected to somebody over TCP, the cloud's metadata service and name servers aside.

    A UNIX socket leads to the same machine: to Docker, the bus, the journal. That is no control plane.
    """
    return call.startswith("tcp ") and not NO_PEER.fullmatch(call)
