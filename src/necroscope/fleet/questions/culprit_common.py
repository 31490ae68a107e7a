"""What is common to many hosts, of who stood out before their events.

That somebody stands out before an event by chance has a probability (`BY_CHANCE`) that was measured, for any
of all who were compared together. On a host with many events, chance alone lets him stand out before some;
he stands out *on the host* if it is so many that chance does that with at most the same probability. How many
hosts chance would do that to is then counted out exactly, host by host, each with its own probability.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import comb, fsum

from necroscope.model.culprit import Ranking
from necroscope.model.fleet.common_culprit import CommonSuspect
from necroscope.statistics.false_discovery import benjamini_hochberg
from necroscope.statistics.poisson_binomial import probability_of_at_least

Key = tuple[str, str, str]  # process, function, way
BY_CHANCE = 0.03  # thresholds `culprit.probability` is 0.01; with loads that come in bursts, less than this
MOST_FALSE = 0.01  # q
NEARLY_ALL = 0.8  # of the hosts of the most common suspect
MOST_SUSPECTS = 200
# Kernel threads have numbers of cores and of workers, compilers add to the names of functions.
THREAD = re.compile(r"(?<=/).+|(?<=[-_:#])\d+$")
MADE_BY_COMPILERS = re.compile(r"\.(?:isra|constprop|part|cold|llvm|lto_priv)\b.*")


@dataclass(slots=True)
class _Seen:
    """One suspect on all hosts."""

    events: dict[str, int] = field(default_factory=dict)  # by host: before so many it stood out
    culprit_on: set[str] = field(default_factory=set)  # hosts with an event that it explains
    share: dict[str, list[float]] = field(default_factory=dict)
    quiet_share: dict[str, list[float]] = field(default_factory=dict)


def common_suspects(
    rankings: Sequence[tuple[str, Ranking]],
) -> tuple[list[CommonSuspect], CommonSuspect | None]:
    """All who stood out on a host, the culprit and the most common first; and the culprit.

    `rankings` are those of events, each with its host.
    """
    events: dict[str, int] = {}
    for host, _ in rankings:
        events[host] = events.get(host, 0) + 1
    seen = _seen(rankings)
    suspects = _judged(seen, events, most_compared=max((r.compared for _, r in rankings), default=0))
    culprit = _culprit(suspects, seen)
    ranked = sorted(suspects, key=lambda one: (one != culprit, not one.is_significant, *_order(one)))
    return [one for one in ranked if one.hosts][:MOST_SUSPECTS], culprit


def common_name(process: str) -> str:
    """The name of a process without what only numbers it: ksoftirqd/*, kworker/*, loader-*."""
    return THREAD.sub("*", process)


def least_events(events: int, probability: float = BY_CHANCE) -> int:
    """Before how many of a host's events chance alone puts somebody with at most the probability of once."""
    tail, least = 0.0, events + 1
    while least > 0:
        one = comb(events, least - 1) * probability ** (least - 1) * (1 - probability) ** (events - least + 1)
        if tail + one > probability * (1 + 1e-12):
            return least
        tail, least = tail + one, least - 1
    return least


def chance_of_host(events: int, probability: float = BY_CHANCE) -> float:
    """The probability that chance alone makes somebody stand out on a host with so many events."""
    least = least_events(events, probability)
    return fsum(
        comb(events, some) * probability**some * (1 - probability) ** (events - some)
        for some in range(least, events + 1)
    )


def _seen(rankings: Sequence[tuple[str, Ranking]]) -> dict[Key, _Seen]:
    seen: dict[Key, _Seen] = {}
    for host, ranking in rankings:
        stood_out: set[Key] = set()
        shares: dict[Key, tuple[float, float]] = {}
        for suspect in ranking.suspects:
            key = _key(suspect.process, suspect.function, suspect.way)
            share, quiet = shares.get(key, (0.0, 0.0))
            shares[key] = share + suspect.share, quiet + suspect.quiet_share
            if suspect.is_significant:
                stood_out.add(key)
        for key, (share, quiet) in shares.items():
            one = seen.setdefault(key, _Seen())
            one.share.setdefault(host, []).append(share)
            one.quiet_share.setdefault(host, []).append(quiet)
            if key in stood_out:
                one.events[host] = one.events.get(host, 0) + 1
        if culprit := ranking.culprit:
            seen[_key(culprit.process, culprit.function, culprit.way)].culprit_on.add(host)
    return seen


def _key(process: str, function: str, way: str) -> Key:
    return common_name(process), MADE_BY_COMPILERS.sub("", function), way


def _judged(seen: Mapping[Key, _Seen], events: Mapping[str, int], most_compared: int) -> list[CommonSuspect]:
    least = {host: least_events(count) for host, count in events.items()}
    chances = [chance_of_host(events[host]) for host in sorted(events)]
    of_hosts: dict[int, float] = {}
    hosts = {
        key: sum(count >= least[host] for host, count in one.events.items()) for key, one in seen.items()
    }
    for count in set(hosts.values()):
        of_hosts[count] = probability_of_at_least(count, ([chance] for chance in chances))
    keys = sorted(seen)
    # Who was compared and ran less than usual is not in any ranking, but was compared as well.
    others = max(most_compared - len(keys), 0)
    q = benjamini_hochberg([*(of_hosts[hosts[key]] for key in keys), *[1.0] * others])
    return [
        _suspect(key, seen[key], events, (hosts[key], of_hosts[hosts[key]], q[place]))
        for place, key in enumerate(keys)
    ]


def _suspect(
    key: Key, one: _Seen, events: Mapping[str, int], judged: tuple[int, float, float]
) -> CommonSuspect:
    process, function, way = key
    hosts, p, q = judged
    share, quiet_share = (_mean(shares, events) for shares in (one.share, one.quiet_share))
    return CommonSuspect(
        kind="process" if not function else "pair" if process else "function",
        process=process,
        function=function,
        events=sum(one.events.values()),
        hosts=hosts,
        of_events=sum(events.values()),
        of_hosts=len(events),
        share=share,
        quiet_share=quiet_share,
        lift=share / quiet_share if quiet_share else None,
        p=p,
        q=q,
        is_significant=hosts > 1 and q <= MOST_FALSE,
        way=way,
    )


def _mean(shares: Mapping[str, Sequence[float]], events: Mapping[str, int]) -> float:
    """The mean over hosts of the mean over their events."""
    return fsum(fsum(shares.get(host, ())) / events[host] for host in sorted(events)) / len(events)


def _culprit(suspects: Sequence[CommonSuspect], seen: Mapping[Key, _Seen]) -> CommonSuspect | None:
    """Of those that nearly all hosts have in common, the one that explains the events of most of them.

    Of a process that does its harm in functions of other names elsewhere, it is the process.
    """
    significant = [one for one in suspects if one.is_significant]
    most = max((one.hosts for one in significant), default=0)
    common = [one for one in significant if one.hosts >= NEARLY_ALL * most]

    def explained(one: CommonSuspect) -> int:
        on = len(seen[one.process, one.function, one.way].culprit_on)
        return on if 2 * on >= one.hosts else 0

    # As in one event, the process comes before a function of many.
    return min(common, key=lambda one: (-explained(one), not one.process, *_order(one)), default=None)


def _order(one: CommonSuspect) -> tuple[int, int, float, bool, str, str, str]:
    excess = one.share - one.quiet_share
    return -one.hosts, -one.events, -excess, one.kind != "process", one.process, one.function, one.way
