"""Text as a shell, a unit file or JSON has it: where a word ends, and which quotes a place is in.

A quote in a quoted text has backslashes before it, so `"` and `\\"` are two kinds of quotes. Where text is
broken, a word goes on rather than end too early: it may be a secret.
"""

from __future__ import annotations

import re
from bisect import bisect_right

QUOTE = re.compile(r"""\\{0,8}["']""")
PIECE = re.compile(r"""(?P<quote>\\{0,8}["'])|\\.|\s|[^\s"'\\]++|\\""", re.DOTALL)
BEFORE_A_QUOTE = re.compile(r"[\w\\]")  # the quote is an apostrophe, or in the middle of a word
LONGEST_QUOTED = 1 << 14  # over the ends of lines: a private key has 4,000


class Quotes:
    """The quoted parts of a text, each within one line."""

    def __init__(self, text: str) -> None:
        changes: list[tuple[int, str]] = []  # from here on, this is the innermost quote
        begin = 0
        for line in text.splitlines(keepends=True):
            changes += _changes_of_line(line, begin)
            begin += len(line)
        self._places = [place for place, _ in changes]
        self._quotes = [quote for _, quote in changes]

    def around(self, place: int) -> str:
        """The innermost quote that a place is in; empty where it is in none, or none that is closed."""
        index = bisect_right(self._places, place) - 1
        return self._quotes[index] if index >= 0 else ""


def _changes_of_line(line: str, begin: int) -> list[tuple[int, str]]:
    if '"' not in line and "'" not in line:
        return []
    changes: list[tuple[int, str]] = []
    is_open: list[tuple[int, str]] = []  # where, and which
    for match in QUOTE.finditer(line):
        kinds = [quote for _, quote in is_open]
        if match[0] in kinds:
            depth = kinds.index(match[0])
            outer = [quote for _, quote in is_open[:depth]]
            changes.append((begin + is_open[depth][0], match[0]))
            changes.append((begin + match.start(), outer[-1] if outer else ""))
            del is_open[depth:]
        elif not BEFORE_A_QUOTE.fullmatch(line[match.start() - 1 : match.start()]):
            is_open.append((match.end(), match[0]))
    # What is inside was closed first; what is outside begins before it.
    return sorted(changes, key=lambda change: change[0])


def end_of_word(text: str, begin: int, around: str = "") -> int:
    """Where the word that begins here ends: at a blank that is in no quotes, or at the quote around it."""
    place, inside = begin, ""
    while match := PIECE.match(text, place):
        quote = match["quote"]
        if inside:
            inside = "" if quote == inside else inside
        elif quote and quote == around:
            return place
        elif quote:
            if end_of_quoted(text, match.end(), quote) is None:
                return end_of_line(text, begin)
            inside = quote
        elif match[0].isspace():
            return place
        place = match.end()
    return place


def end_of_quoted(text: str, begin: int, quote: str) -> int | None:
    """Behind the quote that closes what begins here; None where nothing closes it."""
    for match in QUOTE.finditer(text, begin, begin + LONGEST_QUOTED):
        if match[0] == quote:
            return match.end()
    return None


def end_of_line(text: str, begin: int) -> int:
    """Where the line ends."""
    end = text.find("\n", begin)
    return end if end >= 0 else len(text)
