"""What a purge reports: how many are left, and who holds them."""

from __future__ import annotations

from necroscope.remedies.actions.holding import held_by, kinds_text, read_holding
from necroscope.remedies.actions.purge_limits import noise_floor
from necroscope.remedies.actions.settling import Settled
from necroscope.sources.host import Host


def report(host: Host, settled: Settled, cgroup: str = "") -> str:
    """20,134 -> 38 zombies in 4.2 s; what is left is held by: ..."""
    if settled.left <= noise_floor(host):
        return str(settled)
    return f"{settled}; {what_is_left(host, cgroup)}"


def what_is_left(host: Host, cgroup: str = "") -> str:
    """Who holds the zombies of a cgroup and below it, or all of them, in half a sentence."""
    holding = read_holding(host, (cgroup,) if cgroup else ())
    below = f" below {cgroup}" if cgroup else ""
    if named := held_by(holding):
        early = ", as far as was looked" if holding.holders and holding.holders.stopped_early else ""
        return f"what is left{below} is held by{early}: {named}"
    why = f" (no names: {holding.not_known})" if holding.not_known else ""
    kinds = [f"{text} below {parent.cgroup}" for parent in holding.parents if (text := kinds_text(parent))]
    if kinds:
        return f"what is left holds {'; '.join(kinds)}{why}"
    if cgroup:
        return f"nothing is seen to be held{below} any more"
    return f"what holds the rest is not known{why}"
