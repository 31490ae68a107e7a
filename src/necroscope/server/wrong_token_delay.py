"""Wrong tokens are answered slowly, the more of them the slower, for each client address by itself."""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable

FIRST_SECONDS = 0.25
LONGEST_SECONDS = 8.0
FORGOTTEN_SECONDS = 900.0
MOST_ADDRESSES = 1000
MOST_DELAYED = 40  # of all connections; the rest stays free for those who know the token


class WrongTokenDelay:
    """Counts the wrong tokens of each address; remembers few addresses, and each for a quarter of an hour."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._wrong: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def seconds_for(self, address: str) -> float:
        """Count a wrong token, and say how long its answer has to wait."""
        key, now = network_of(address), self._clock()
        count, last = self._wrong.pop(key, (0, now))
        count = count + 1 if now - last < FORGOTTEN_SECONDS else 1
        self._wrong[key] = (count, now)
        while len(self._wrong) > MOST_ADDRESSES:
            self._wrong.popitem(last=False)
        return float(min(FIRST_SECONDS * 2 ** min(count - 1, 10), LONGEST_SECONDS))

    def forget(self, address: str) -> None:
        """The right token came from there."""
        self._wrong.pop(network_of(address), None)

    def __len__(self) -> int:
        return len(self._wrong)


def network_of(address: str) -> str:
    """What one client can choose from: an IPv6 client has a whole /64."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return "unknown"
    if isinstance(parsed, ipaddress.IPv6Address) and not parsed.ipv4_mapped:
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)
