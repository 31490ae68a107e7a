"""Text for a terminal of any width: wrapping, columns, colour."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TextIO

from necroscope.model.visible_text import LINES, visible_text

COLOURS = {"critical": "1;31", "warning": "1;33", "info": "1;36", "good": "1;32", "dim": "2", "bold": "1"}
# Our own colours only: any other could hide text.
PAINT = re.compile(rf"(\033\[(?:0|{'|'.join(COLOURS.values())})m)")
EXAMPLE = "necroscope "  # how the lines of a paragraph of examples begin
LONGEST_NAME = 8  # of what stands in the left column of a page
WIDEST = 110  # longer lines are hard to read


@dataclass(frozen=True, slots=True)
class Screen:
    """How wide the text may be, and whether it may have colours."""

    width: int = 80
    colour: bool = False

    def paint(self, text: str, style: str) -> str:
        """The text in a style, where colours are wanted."""
        return f"\033[{COLOURS[style]}m{text}\033[0m" if self.colour else text

    def wrap(self, text: str, indent: int = 0, hanging: int | None = None) -> str:
        """Lines of at most the screen's width; words too long for one are broken."""
        text = visible_text(text)
        following = indent if hanging is None else hanging
        return textwrap.fill(
            text,
            width=max(self.width, following + 10),
            initial_indent=" " * indent,
            subsequent_indent=" " * following,
            break_on_hyphens=False,
        )

    def shown(self, text: str) -> str:
        """Return a whole text as it may be written here: only colours, if the screen has any, steer it."""
        parts = PAINT.split(text) if self.colour else [text]
        return "".join(part if PAINT.fullmatch(part) else visible_text(part, LINES) for part in parts)

    def line(self, text: str) -> str:
        """One line, cut where the screen ends."""
        text = visible_text(text)
        return text if len(text) <= self.width else f"{text[: self.width - 1]}~"

    def page(self, text: str) -> str:
        """A manual page: paragraphs are wrapped; examples, indented lines and columns keep their shape."""
        return "\n\n".join(self._paragraph(paragraph) for paragraph in text.split("\n\n"))

    def _paragraph(self, paragraph: str) -> str:
        lines = paragraph.splitlines()
        if all(line.startswith(EXAMPLE) for line in lines):
            return self._examples(lines)
        if not any(line.startswith(" ") or "    " in line for line in lines):
            return self.wrap(" ".join(lines))
        return "\n".join(map(self._shaped, lines))

    def _shaped(self, line: str) -> str:
        indent = len(line) - len(line.lstrip())
        name, blanks, text = line.partition("    ")
        if not indent and blanks and len(name) <= LONGEST_NAME:  # `Reads    /proc/stat`
            return (
                visible_text(name).ljust(LONGEST_NAME + 1)
                + self.wrap(text.strip(), LONGEST_NAME + 1).lstrip()
            )
        return visible_text(line) if len(line) <= self.width else self.wrap(line.strip(), indent, indent + 2)

    def _examples(self, lines: Sequence[str]) -> str:
        """Commands, one a line, and what they do beside them; below them where that is too wide."""
        if max(map(len, lines)) <= self.width:
            return "\n".join(map(visible_text, lines))
        rows = [line.partition("  ") for line in lines]
        beside = max((len(command) for command, _, text in rows if text), default=0) + 2
        narrow = any(text and beside + len(text.strip()) > self.width for _, _, text in rows)
        shown = []
        for command, _, text in rows:
            first = self.wrap(command, 0, 4)
            if text and narrow:
                shown += [first, self.wrap(text.strip(), 4)]
            else:
                shown.append(f"{first.ljust(beside)}{visible_text(text.strip())}" if text else first)
        return "\n".join(shown)

    def section(self, title: str, lines: Iterable[str]) -> Iterator[str]:
        """An empty line, a title, and the lines below it; nothing if there are none."""
        lines = list(lines)
        if any(lines):
            yield from ("", self.paint(title, "bold"), *lines)

    def table(self, rows: Iterable[tuple[str, str]], indent: int = 2) -> str:
        """Two columns, the second wrapped beside the first; below it where a first is too long."""
        rows = [(visible_text(name), text) for name, text in rows]
        longest = self.width // 2 - indent
        first = max((len(name) for name, _ in rows if len(name) <= longest), default=0)
        beside = indent + first + 2
        lines = []
        for name, text in rows:
            if len(name) > longest:
                lines.append(self.wrap(name, indent))
                lines.append(self.wrap(text, beside))
            else:
                lines.append(" " * indent + name.ljust(first + 2) + self.wrap(text, beside).lstrip(" "))
        return "\n".join(line for line in lines if line)


def screen_of(stream: TextIO | None) -> Screen:
    """The screen behind a stream: a pipe gets 80 columns, or COLUMNS, and no colour."""
    width = min(shutil.get_terminal_size().columns, WIDEST)
    return Screen(width, _is_terminal(stream) and "NO_COLOR" not in os.environ)


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"


def progress_bar(done: int, total: int) -> None:
    """A bar of seconds on stderr, on a terminal only; it wipes itself at the end."""
    if not _is_terminal(sys.stderr) or not total:
        return
    cells = max(min(screen_of(sys.stderr).width - 30, 40), 5)
    filled = cells * done // total
    bar = "#" * filled + "." * (cells - filled)
    text = f"\rlooking [{bar}] {done}/{total} s " if done < total else "\r\033[K"
    sys.stderr.write(text)
    sys.stderr.flush()


def note(text: str) -> None:
    """One line on stderr, for whoever watches a long-running verb."""
    if sys.stderr:
        sys.stderr.write(f"necroscope: {visible_text(text)}\n")
        sys.stderr.flush()
