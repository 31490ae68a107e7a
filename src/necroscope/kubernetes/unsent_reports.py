"""What has not been told yet, and what was to be told last: a folder beside the segments.

    .kubernetes/last.json          the last handover of the recorder
    .kubernetes/events/ID.json     a series that waits, with the pods that it hit

Only the reporting child writes here, so that no disk can hold up the recorder.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from necroscope.kubernetes.event_series import EventSeries, parse_series, series_document
from necroscope.kubernetes.report_payload import Handover, read_handover, write_handover
from necroscope.sources.plain_files import read_plain
from necroscope.sources.ray_pods import NodePod
from necroscope.store.durable import write_durably
from necroscope.store.trusted_folder import make_trusted

FOLDER = ".kubernetes"
MAX_BYTES = 4 << 20
MOST_WAITING = 100  # events; the API server forgets events after an hour anyway
OLDEST_NS = 24 * 3600 * 10**9


@dataclass(frozen=True, slots=True)
class Waiting:
    """A series to be told, and the pods that were there when it was new."""

    series: EventSeries
    pods: tuple[NodePod, ...]


class KeptReports:
    """The folder of one host. What cannot be written is an OSError; what cannot be read is not there."""

    def __init__(self, host_folder: Path) -> None:
        self._folder = host_folder / FOLDER
        self._events = self._folder / "events"

    def prepare(self) -> None:
        """Make the folders. Raises OSError, and UntrustedFolderError as root if others could change them."""
        for folder in (self._folder, self._events):
            make_trusted(folder)

    def keep_last(self, handover: Handover) -> None:
        """Remember what the recorder said last."""
        write_durably(self._folder / "last.json", write_handover(handover))

    def last(self) -> Handover | None:
        """What the recorder said last; None: nothing, or nothing that can be read."""
        try:
            return read_handover(read_plain(self._folder / "last.json", MAX_BYTES))
        except (OSError, ValueError):
            return None

    def waiting(self) -> list[Waiting]:
        """The events that wait, the oldest first."""
        try:
            paths = sorted(self._events.glob("*.json"))
        except OSError:
            return []
        found = [one for path in paths if not path.name.startswith(".") and (one := _read(path))]
        return sorted(found, key=lambda one: one.series.first_utc_ns)

    def put(self, waiting: Waiting) -> None:
        """Keep a series, or what became of it."""
        row = {"series": series_document(waiting.series), "pods": [asdict(pod) for pod in waiting.pods]}
        write_durably(self._path(waiting.series), json.dumps(row).encode())

    def remove(self, waiting: Waiting) -> None:
        """Forget a series."""
        self._path(waiting.series).unlink(missing_ok=True)

    def _path(self, series: EventSeries) -> Path:
        return self._events / f"{series.id.replace('/', '-')}.json"


def _read(path: Path) -> Waiting | None:
    try:
        row: Any = json.loads(read_plain(path, MAX_BYTES))
        pods = tuple(NodePod(**pod) for pod in row["pods"])
        return Waiting(parse_series(row["series"]), pods)
    except OSError:  # it may be read the next time
        return None
    except (ValueError, KeyError, TypeError, RecursionError):
        with suppress(OSError):  # of a damaged disk: it would be in the way for ever
            path.unlink(missing_ok=True)
        return None


def too_many(waiting: Sequence[Waiting], now_ns: int) -> list[Waiting]:
    """Those that are given up: the oldest beyond the limit, and all that nobody wants to know any more."""
    beyond = list(waiting[: max(len(waiting) - MOST_WAITING, 0)])
    old = [one for one in waiting if now_ns - one.series.last_utc_ns > OLDEST_NS]
    return list(dict.fromkeys([*beyond, *old]))
