"""What this host is made of, in one file that can be compared with that of another.

necroscope snapshot -o node-17.json
necroscope snapshot --root /mnt/image --labels labels.toml

Secrets are taken out. Taken twice without a change, the file is the same to the byte.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from necroscope.cli.answer import Answer
from necroscope.cli.arguments import add_root
from necroscope.cli.output_file import add_output, write_output
from necroscope.cli.screen import Screen
from necroscope.errors import CannotLookError
from necroscope.inventory.sections.labels import read_label_file
from necroscope.inventory.snapshot import snapshot_document, snapshot_text, take_snapshot
from necroscope.model.snapshot import Snapshot
from necroscope.sources.host import Host

EXIT_CODES = """exit codes:
  0    taken; what could not be read is said
  2    usage, a file that is there already, or our own fault
  3    nothing could be read
  130  interrupted"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `snapshot` understands."""
    parser.epilog = EXIT_CODES
    add_output(parser, "write a file instead")
    add_root(parser, "look at another root: a mounted image, a container's /host")
    parser.add_argument(
        "--labels",
        type=Path,
        metavar="FILE",
        help="what you call this host: TOML, JSON, YAML or key=value lines",
    )


def run(arguments: argparse.Namespace) -> Answer:
    """Take the snapshot, and print or write it."""
    labels = read_label_file(arguments.labels) if arguments.labels else {}
    snapshot = take_snapshot(Host(arguments.root), labels)
    if not any(snapshot.facts.values()):
        reason = next(iter(snapshot.not_read.values()), "")
        raise CannotLookError(f"nothing of {arguments.root} could be read: {reason}")
    body: dict[str, Any] = {"snapshot": snapshot_document(snapshot)}
    if not arguments.output:
        return Answer(0, body, lambda _: snapshot_text(snapshot).removesuffix("\n"))
    text = snapshot_text(snapshot).encode(errors="replace")
    write_output(arguments.output, text, force=arguments.force)
    body |= {"written": str(arguments.output)}
    return Answer(0, body, lambda screen: _text(screen, arguments.output, snapshot))


def _text(screen: Screen, path: Path, snapshot: Snapshot) -> str:
    count = sum(map(len, snapshot.facts.values()))
    lines = [screen.wrap(f"{path}: {count} facts about {snapshot.host or 'a host without a name'}")]
    if snapshot.not_read:
        lines.append("not read, or not all of it:")
        lines += [
            screen.wrap(f"{name}: {reason}", indent=2, hanging=4)
            for name, reason in snapshot.not_read.items()
        ]
    return "\n".join(lines)
