"""The Prometheus text format, version 0.0.4."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator

from necroscope import __version__
from necroscope.exporter.families import FAMILIES, Family, Sample
from necroscope.exporter.meter import Meter
from necroscope.model.recorder_status import KubernetesStatus, ShipStatus, Status
from necroscope.model.visible_text import visible_text

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"'})


def render(meter: Meter, status: Status | None = None) -> str:
    """All metrics as text. A family without a value is left out altogether."""
    by_family: dict[str, list[Sample]] = defaultdict(list)
    own = status_samples(status) if status else ()
    for sample in (Sample("necroscope_build_info", (__version__,), 1), *meter.samples(), *own):
        by_family[sample.family].append(sample)
    lines: list[str] = []
    for family in FAMILIES:
        if family.name in by_family:
            lines += (_HEADS[family.name], *_lines(family, by_family[family.name]))
    return "\n".join(lines) + "\n"


def status_samples(status: Status) -> Iterator[Sample]:
    """How the recorder itself is."""
    values: dict[str, float] = {
        "recorder_start_time_seconds": status.begin_utc_ns / 1e9,
        "recorder_flight": 1 if status.is_flight else 0,
        "recorder_moments_total": status.moments,
        "segments_sealed_total": status.segments_sealed,
        "segments_waiting": status.segments_waiting,
        "segments_incomplete_total": status.segments_incomplete,
        "sealing_working": 0 if status.sealing_error else 1,
        "store_bytes": status.store_bytes,
        "store_writable": 0 if status.store_error else 1,
        "frames_waiting": status.frames_waiting,
        "frames_dropped_total": status.frames_dropped,
        "profiling": 1 if status.profiling else 0,
        "perf_starts_total": status.perf_starts,
        "capture_gaps_total": status.gaps - status.gaps_before,
        "capture_gap_seconds_total": max(status.gap_seconds - status.gap_seconds_before, 0.0),
    }
    for name, value in values.items():
        yield Sample(f"necroscope_{name}", (), value)
    if status.userspace_lines is not None:
        yield Sample("necroscope_kernel_log_userspace_lines_total", (), status.userspace_lines)
    if status.ship:
        yield from _ship_samples(status.ship)
    if status.kubernetes:
        yield from _kubernetes_samples(status.kubernetes)
    for cost in status.costs:
        yield Sample("necroscope_own_cpu_seconds_total", (cost.part,), cost.cpu_seconds)
        yield Sample("necroscope_own_resident_bytes", (cost.part,), cost.resident_bytes)


def _ship_samples(ship: ShipStatus) -> Iterator[Sample]:
    yield Sample("necroscope_ship_interval_seconds", (), ship.every_seconds)
    yield Sample("necroscope_ship_waiting_parts", (), ship.waiting)
    yield Sample("necroscope_ship_sent_parts_total", (), ship.sent)
    yield Sample("necroscope_ship_dropped_parts_total", (), ship.given_up)
    yield Sample("necroscope_ship_errors_total", (), ship.failures)
    if ship.last_success_us:
        yield Sample("necroscope_ship_seconds_since_success", (), _seconds_since(ship.last_success_us))


def _kubernetes_samples(told: KubernetesStatus) -> Iterator[Sample]:
    yield Sample("necroscope_kubernetes_interval_seconds", (), told.every_seconds)
    for result, count in (("ok", told.ok), ("refused", told.refused), ("failed", told.failed)):
        yield Sample("necroscope_kubernetes_reports_total", (result,), count)
    if told.last_success_us:
        yield Sample("necroscope_kubernetes_seconds_since_success", (), _seconds_since(told.last_success_us))
    yield Sample("necroscope_kubernetes_dropped_events_total", (), told.dropped)


def _seconds_since(utc_us: int) -> float:
    return max(time.time() - utc_us / 1e6, 0.0)


def _head(family: Family) -> str:
    # In HELP, a quotation mark stands for itself.
    text = family.help.replace("\\", "\\\\").replace("\n", "\\n")
    return f"# HELP {family.name} {text}\n# TYPE {family.name} {family.kind}"


_HEADS = {family.name: _head(family) for family in FAMILIES}


def _lines(family: Family, samples: Iterable[Sample]) -> Iterator[str]:
    """Return a line for each series. Names that look alike are one: a series twice would end the scrape."""
    values: dict[str, float] = {}
    for sample in samples:
        series = _series(family, sample)
        values[series] = values[series] + sample.value if series in values else sample.value
    return (f"{series} {value!r}" for series, value in values.items())


def _series(family: Family, sample: Sample) -> str:
    if not sample.labels:
        return family.name
    pairs = zip(family.labels, sample.labels, strict=True)
    labels = ",".join(f'{name}="{visible_text(value).translate(ESCAPES)}"' for name, value in pairs)
    return f"{family.name}{{{labels}}}"
