"""What stands behind the # of the page's address; web/src/address.ts reads it."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlencode

from necroscope.server.range_and_filters import Filters, Range, Tree

Words = Iterable[tuple[str, str | int]]


def address(view: str, words: Words) -> str:
    """A link to a view; what is empty or zero is left at its default."""
    return f"#{view}?{urlencode([(name, value) for name, value in words if value or name == 'cpu'])}"


def moment_address(minute: Range, chosen: Range, filters: Filters, tree: Tree) -> str:
    """A link to the samples that a flame graph is of."""
    words: list[tuple[str, str | int]] = [
        ("host", minute.host),
        ("begin", minute.begin_us),
        ("end", minute.end_us),
        ("a", f"{chosen.begin_us}..{chosen.end_us}"),
        ("b", tree.against),
        *(("cpu", cpu) for cpu in filters.cpus),
        *(("process", name) for name in filters.processes),
        *(("thread", name) for name in filters.threads),
        ("idle", int(filters.idle)),
        ("search", filters.search),
        ("regexp", int(filters.regexp)),
        ("only", int(filters.only_matching)),
        ("by", "" if tree.by == "comm" else tree.by),
        ("inverted", int(tree.inverted)),
    ]
    return address("moment", words)
