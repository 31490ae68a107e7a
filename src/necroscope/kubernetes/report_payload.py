"""What the recorder hands to the child that reports: JSON on its standard input, and a copy in the store."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from necroscope.kubernetes.condition import Condition
from necroscope.kubernetes.event_series import EventSeries, parse_series, series_document

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Handover:
    """What there is to tell. No conditions: it is not known yet how the node is."""

    made_utc_ns: int
    conditions: tuple[Condition, ...] = ()
    events: tuple[EventSeries, ...] = ()


def write_handover(handover: Handover) -> bytes:
    """As JSON."""
    document = {
        "schema": SCHEMA,
        "made_utc_ns": handover.made_utc_ns,
        "conditions": [asdict(one) for one in handover.conditions],
        "events": [series_document(one) for one in handover.events],
    }
    return json.dumps(document).encode()


def read_handover(content: bytes) -> Handover:
    """What was written; ValueError where it is something else."""
    try:
        document = json.loads(content)
        if document["schema"] != SCHEMA:
            raise ValueError(f"schema {document['schema']!r}, not {SCHEMA}")
        return Handover(
            made_utc_ns=int(document["made_utc_ns"]),
            conditions=tuple(Condition(**row) for row in document["conditions"]),
            events=tuple(map(parse_series, document["events"])),
        )
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"it is no report: {error}") from error
