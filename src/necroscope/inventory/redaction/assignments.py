"""The values of secret names inside of text: NAME=value, "NAME": "value", --NAME value, and short options."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from necroscope.inventory.redaction.redaction_rules import redaction_rules
from necroscope.inventory.redaction.secret_values import REDACTED, is_secret, may_be_secret

QUOTE = re.compile(r"""\\{0,8}["']""")
PIECE = re.compile(r"""(?P<quote>\\{0,8}["'])|\\.|\s|[^\s"'\\]++|\\""", re.DOTALL)
BEFORE_A_QUOTE = re.compile(r"[\w\\]")  # the quote is an apostrophe, or in the middle of a word
MAX_QUOTED = 1 << 14  # over the ends of lines: a private key has 4,000
MOST_PASSES = 5  # over short options: a command may have several

# A name and what separates it from its value. Between an option and its value there may be a blank, or the
# comma of a list; in other text any two words would do.
NAME = re.compile(
    r"""(?<![\w.-])(?P<open>(?:\\{0,8}["'])?)(?P<name>[\w.-]++)(?P<close>(?:\\{0,8}["'])?)"""
    r"""(?P<separator>[ \t]*+(?:[+?:!]?=+>?|:)[ \t]*+|(?<=["'])\s*+,\s*+(?=\\{0,8}["'])|[ \t]++(?=[^\s-]))"""
)
ASSIGNED = re.compile(r"[=:]")
GOES_ON = re.compile(r"[\w\\$]")  # behind a quote that is closed
IN_JSON = re.compile(r"^[^=]*[:,]")
# The fields of `Server=x;Password=a b;Database=y`.
NEXT_FIELD = re.compile(r";(?=[ \t]*[A-Za-z][\w ]{0,40}=)")
FIELD_BEFORE = re.compile(r"=[^;\"'\n]*;[ \t]*$")
FARTHEST_FIELD = 200
IS_DONE = re.compile(re.escape(REDACTED) + r"(?=[\s,;&\"'\\)\]}]|$)")

Span = tuple[int, int]


def redact_assignments(text: str) -> str:
    """Text without the values of secret names."""
    return _without(text, _assigned(text, Quotes(text)))


def redact_options(text: str) -> str:
    """Text without the words behind short options that some programs take secrets with."""
    for pattern in redaction_rules().options if "-" in text else ():
        for _ in range(MOST_PASSES):
            before, text = text, _without(text, _behind(text, pattern))
            if text == before:
                break
    return text


def _without(text: str, spans: Iterator[Span]) -> str:
    kept: list[str] = []
    done = 0
    for begin, end in spans:
        kept += [text[done:begin], REDACTED]
        done = end
    return "".join([*kept, text[done:]])


def _behind(text: str, pattern: re.Pattern[str]) -> Iterator[Span]:
    if not pattern.search(text):
        return
    quotes, place = Quotes(text), 0
    while match := pattern.search(text, place):
        place = end_of_word(text, match.end(), quotes.around(match.end()))
        if place > match.end():
            yield match.end(), place
        else:
            place += 1


def _assigned(text: str, quotes: Quotes) -> Iterator[Span]:
    place = 0
    while match := NAME.search(text, place):
        # On behind the name: `--set=password=x` has another in its value.
        place = match.end("name")
        is_assigned = ASSIGNED.search(match["separator"])
        if not (is_assigned or match["name"].startswith("-")) or IS_DONE.match(text, match.end()):
            continue
        if may_be_secret(match["name"]):
            begin, end = match.end(), _end_of_value(text, match, quotes)
            if is_secret(match["name"], text[begin:end].strip("\\\"'")):
                yield begin, end
                place = end


def _end_of_value(text: str, match: re.Match[str], quotes: Quotes) -> int:
    """Where the value behind a name ends."""
    begin = match.end()
    line = end_of_line(text, begin)
    if match["open"] and not match["close"]:  # "NAME=value with blanks"
        return _end_of_quotes(text, begin, match["open"], line)
    around = quotes.around(begin)
    quote = QUOTE.match(text, begin)
    if quote and quote[0] != around:
        closed = end_of_quoted(text, quote.end(), quote[0])
        if closed is None:
            return line
        # In JSON and in lists it ends here; the word of a shell goes on.
        return closed if IN_JSON.search(match["separator"]) else end_of_word(text, closed, around)
    following = NEXT_FIELD.search(text, begin, line)
    if following or FIELD_BEFORE.search(text[max(0, match.start() - FARTHEST_FIELD) : match.start()]):
        end = following.start() if following else line
        return min(end, _end_of_quotes(text, begin, around, line))
    word = end_of_word(text, begin, around)
    # `NAME: value` of a header or YAML, and `NAME = value` of other files.
    if match["separator"].endswith((" ", "\t")) and ASSIGNED.search(match["separator"]):
        return max(word, _end_of_quotes(text, begin, around, line))
    return word


def _end_of_quotes(text: str, begin: int, around: str, line: int) -> int:
    """The end of the quotes that a place is in, else of its line."""
    closed = end_of_quoted(text, begin, around) if around else None
    if closed is None:
        return line
    # 'it'\''s' is one word.
    return end_of_word(text, closed) if GOES_ON.match(text, closed) else closed - len(around)


class Quotes:
    """The quoted parts of a text, each within one line.

    A quote inside a quoted text has backslashes before it, so `"` and `\\"` are two kinds of quotes.
    """

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
    """Find where a word ends: at a blank outside of quotes, or at the quote around the word.

    In broken text a word rather goes on than ends too early: it may be a secret.
    """
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
    for match in QUOTE.finditer(text, begin, begin + MAX_QUOTED):
        if match[0] == quote:
            return match.end()
    return None


def end_of_line(text: str, begin: int) -> int:
    """Where the line ends."""
    end = text.find("\n", begin)
    return end if end >= 0 else len(text)
