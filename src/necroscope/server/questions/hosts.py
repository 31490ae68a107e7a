"""Which hosts there are recordings of."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from necroscope import __version__
from necroscope.server.questions.recorded_store import Damaged, RecordedStore
from necroscope.server.questions.selection import US_NS
from necroscope.store.store import StoredSegment

FRESH_NS = 5 * 10**9  # a recorder writes every second
APART = ("hostname", "kernel", "cores_online", "others")  # these have fields of their own


@dataclass(frozen=True, slots=True)
class RecordedHost:
    """A host and the time that its recordings cover, holes included."""

    name: str
    begin_us: int
    end_us: int
    is_live: bool  # a recorder wrote in the last seconds
    cores: int
    kernel: str
    labels: dict[str, str]
    segments: int


@dataclass(frozen=True, slots=True)
class Hosts:
    """All hosts, the one with the newest second first."""

    hosts: list[RecordedHost]
    damaged: list[Damaged]
    now_us: int
    version: str
    has_fleet: bool = False  # a fleet can be asked about, too


def ask_hosts(store: RecordedStore, *, has_fleet: bool = False) -> Hosts:
    """All hosts, the one with the newest second first."""
    now_ns = time.time_ns()
    hosts = [_host(name, segments, now_ns) for name, segments in store.hosts().items()]
    return Hosts(hosts, store.describe_damage(store.damaged), now_ns // US_NS, __version__, has_fleet)


def is_live(segments: Sequence[StoredSegment], now_ns: int) -> bool:
    """Whether a recorder wrote one of these in the last seconds."""
    return any(s.is_open and now_ns - FRESH_NS <= s.end_ns <= now_ns + FRESH_NS for s in segments)


def _host(name: str, segments: Sequence[StoredSegment], now_ns: int) -> RecordedHost:
    labels = max(segments, key=lambda segment: segment.end_ns).description.host
    named = {key: str(value) for key, value in asdict(labels).items() if value and key not in APART}
    rest = named | {label.name: label.value for label in labels.others}
    return RecordedHost(
        name=name,
        begin_us=min(segment.begin_ns for segment in segments) // US_NS,
        end_us=max(segment.end_ns for segment in segments) // US_NS,
        is_live=is_live(segments, now_ns),
        cores=labels.cores_online,
        kernel=labels.kernel,
        labels=rest,
        segments=len(segments),
    )
