"""Something that happened, once or several times in a row, as the cluster is told of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class EventSeries:
    """One Event of the cluster for the node, and one for each pod that was hit."""

    id: str  # of the first event in it; `flame --around` takes it
    reason: str
    message: str
    first_utc_ns: int
    last_utc_ns: int
    count: int
    tells_pods: bool = False


def series_document(series: EventSeries) -> dict[str, Any]:
    """As JSON."""
    return asdict(series)


def parse_series(document: Mapping[str, Any]) -> EventSeries:
    """The series in such a document; ValueError where it is none."""
    try:
        return EventSeries(
            id=str(document["id"]),
            reason=str(document["reason"]),
            message=str(document["message"]),
            first_utc_ns=int(document["first_utc_ns"]),
            last_utc_ns=int(document["last_utc_ns"]),
            count=int(document["count"]),
            tells_pods=bool(document["tells_pods"]),
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"no series: {error}") from error
