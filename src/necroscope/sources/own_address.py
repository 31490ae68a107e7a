"""The address by which others of its network know this machine: that of a packet to the world.

Nothing is sent: to connect a socket of datagrams only looks up the route.
"""

from __future__ import annotations

import socket

from necroscope.sources.host import Host

# Addresses for documentation: nobody has them, and the default route leads there.
ANYWHERE = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))


def own_address(host: Host) -> str:
    """The address; empty where there is no network, or where we are in another one than the machine."""
    if not (host.is_live and host.is_own):
        return ""
    for family, anywhere in ANYWHERE:
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as door:
                door.connect((anywhere, 9))
                return str(door.getsockname()[0])
        except OSError:
            continue
    return ""
