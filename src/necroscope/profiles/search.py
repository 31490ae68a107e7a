"""What is looked for in the names of functions, processes and threads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from necroscope import _native
from necroscope.errors import UsageError


@dataclass(frozen=True, slots=True)
class Search:
    """A text in upper or lower case, or a regular expression, whose case counts."""

    text: str
    is_regexp: bool = False
    only_matching: bool = False  # leave out samples that do not match


def compiled(search: Search) -> _native.Search:
    """The same for the Rust core; an expression that is none, or too large, is an error that says so."""
    try:
        return _compiled(search.text, search.is_regexp)
    except ValueError as error:
        reason = str(error).strip().splitlines()[-1].removeprefix("error: ")
        hint = "an expression is written as in Perl, without look-around and back references"
        raise UsageError(f"the search {search.text!r}: {reason}", hint=hint) from error


@lru_cache(maxsize=16)  # a question asks once for every segment
def _compiled(text: str, is_regexp: bool) -> _native.Search:
    return _native.Search(text, is_regexp)
