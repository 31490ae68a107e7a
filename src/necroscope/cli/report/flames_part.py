"""The flame graphs of a report: the seconds of the symptom on its core, and what is unusual in them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace

from necroscope.cli.flame import tree_lines
from necroscope.cli.report.blocks import Block, Figure, Paragraph, Section, redacted_flame
from necroscope.cli.report.incident import Incident
from necroscope.cli.selecting import around_event
from necroscope.diagnosis.quiet_baseline.baseline import Baseline, quiet_baseline
from necroscope.diagnosis.quiet_baseline.flame_title import describe, flame_title
from necroscope.errors import NecroscopeError, NoSamplesError
from necroscope.model.remedy_ids import MOVE_INTERRUPTS
from necroscope.profiles.export.svg import encode_svg
from necroscope.profiles.skip_unreadable import skip_unreadable
from necroscope.profiles.window import Selection, Window, flame, require_samples, window
from necroscope.store.stored_events import StoredEvent

BEFORE_SECONDS = 5.0
NARROWEST_SHARE = 0.005  # what is narrower has no room for its name, and makes the page taller
SMALLEST_SHARE = 0.03  # of a function in the lines that stand for a graph
TITLE = "What the core was doing"


def flames_part(incident: Incident) -> Section:
    """The samples around the symptom; where there are none, why."""
    if incident.symptom is None:
        return Section("flames", TITLE, (Paragraph("No symptom, and so no seconds to show."),))
    selection = _selection(incident, incident.symptom)
    try:
        return Section("flames", TITLE, tuple(_figures(incident, selection)))
    except NecroscopeError as error:
        hint = f" ({error.hint})" if error.hint else ""
        return Section("flames", TITLE, (Paragraph(f"No flame graph: {error.what}{hint}."),))


def _selection(incident: Incident, symptom: StoredEvent) -> Selection:
    """The seconds before the symptom, on its core; of a saturated core, those that it lasted."""
    core = _core(incident, symptom)
    wanted = Selection(0, 0, cpus=() if core is None else (core,))
    around = around_event(argparse.Namespace(window=BEFORE_SECONDS), symptom, wanted)
    return replace(around, begin_ns=symptom.utc_ns) if symptom.event.kind == "core-saturated" else around


def _core(incident: Incident, symptom: StoredEvent) -> int | None:
    """The core of the event, or the one that the diagnosis is about."""
    if symptom.event.core is not None:
        return symptom.event.core
    treatments = incident.diagnosis.treatments if incident.diagnosis else ()
    cores = [one.subject for one in treatments if one.remedy == MOVE_INTERRUPTS]
    return int(cores[0]) if cores and cores[0].isdigit() else None


def _figures(incident: Incident, selection: Selection) -> Iterator[Block]:
    damaged = incident.damaged
    found, segments = skip_unreadable(
        lambda some: window(some, selection), incident.chosen.segments, selection, damaged
    )
    require_samples(found, segments)
    words = describe(selection, incident.host)
    yield _figure(found, None, words, "flame-1-")
    try:
        baseline = quiet_baseline(segments, selection, incident.thresholds, damaged)
    except NoSamplesError as error:
        yield Paragraph(f"There is nothing to compare it with: {error.what}.")
    else:
        yield _figure(found, baseline, words, "flame-2-")


def _figure(found: Window, baseline: Baseline | None, words: str, prefix: str) -> Figure:
    whole = flame(found, baseline.window if baseline else None)
    tree = redacted_flame(whole.pruned(NARROWEST_SHARE))
    title = flame_title(words, found, baseline)
    narrow = f"functions with less than {NARROWEST_SHARE:.1%} are left out"
    title = replace(title, notes=(*title.notes, narrow))
    svg = encode_svg(tree, title, prefix=prefix).decode()
    return Figure(f"{title.text}. {'; '.join(title.notes)}", svg, "\n".join(tree_lines(tree, SMALLEST_SHARE)))
