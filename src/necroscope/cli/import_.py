"""Add captures to the store: perf.data, the text of `perf script` (also gzipped), folded stacks."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from necroscope.cli.answer import Answer
from necroscope.cli.arguments import add_store
from necroscope.cli.screen import Screen
from necroscope.model.timestamp import iso_utc
from necroscope.profiles.import_ import import_file
from necroscope.store.store import Store, StoredSegment, read_document


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `import` understands."""
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    add_store(parser)
    parser.add_argument(
        "--kallsyms", type=Path, help="the kernel symbols saved on the boot that was captured"
    )
    parser.add_argument(
        "--host", default="", help="the host's name, where the file does not say or says it wrongly"
    )


def run(arguments: argparse.Namespace) -> Answer:
    """Import all files; the first that cannot be read ends it, those before it stay."""
    store = Store(arguments.store)
    segments = [
        import_file(store, path, kallsyms=arguments.kallsyms, host=arguments.host) for path in arguments.files
    ]
    body = {"segments": [_document(segment) for segment in segments]}
    return Answer(0, body, lambda screen: "\n\n".join(_text(screen, segment) for segment in segments))


def _document(segment: StoredSegment) -> dict[str, Any]:
    document = read_document(segment.folder)
    facts = {name: value for name, value in document.items() if name not in ("begin_ns", "end_ns")}
    return {
        "folder": str(segment.folder),
        "begin": iso_utc(segment.begin_ns),
        "end": iso_utc(segment.end_ns),
        **facts,
    }


def _text(screen: Screen, segment: StoredSegment) -> str:
    document, facts = _document(segment), segment.description.profile
    seconds = (segment.end_ns - segment.begin_ns) / 1e9
    rows = [
        ("host", segment.host),
        ("time", f"{document['begin']} to {document['end']}, {seconds:.1f} s"),
        ("time known from", document["clock"]["basis"]),
        ("samples", f"{facts.samples:,} of {', '.join(facts.events)}"),
        ("stacks", f"{facts.stacks:,} different, of {facts.frames:,} functions"),
        ("without a name", f"{facts.unnamed_frames:,} of the functions"),
        ("lost", "unknown" if facts.lost is None else f"{facts.lost:,}"),
        ("segment", document["folder"]),
    ]
    rows += [("missing", gap) for gap in facts.gaps]
    return f"{screen.paint(document['imported_from'], 'bold')}\n{screen.table(rows)}"
