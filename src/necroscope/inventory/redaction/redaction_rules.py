"""The rules of `rules/redaction.toml`, ready to use."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class RedactionRules:
    """What the file says. Its comments say what each is for."""

    contains: re.Pattern[str]
    words: re.Pattern[str]
    strict_words: re.Pattern[str]
    leaves: frozenset[str]
    harmless_names: re.Pattern[str]
    names_of_files: re.Pattern[str]
    scopes: Mapping[str, str]
    exempt_facts: re.Pattern[str]
    options: tuple[re.Pattern[str], ...]
    first_shapes: tuple[re.Pattern[str], ...]  # they go before names inside of the text are looked at
    shapes: tuple[re.Pattern[str], ...]
    shortest: int
    long_word: re.Pattern[str]
    smallest_ratio: float
    smallest_ratio_of_letters: float
    fewest_different: int
    harmless_values: re.Pattern[str]
    digest: re.Pattern[str]
    exempt_sections: frozenset[str]
    never: re.Pattern[str]


@cache
def redaction_rules() -> RedactionRules:
    """All rules."""
    table = tomllib.loads(files("necroscope.inventory").joinpath("rules/redaction.toml").read_text())
    names, random = table["names"], table["random"]
    not_these = rf"(?!(?:{'|'.join(names['not_endings'])})$)"
    return RedactionRules(
        contains=re.compile("|".join(map(re.escape, names["contains"])), re.IGNORECASE),
        words=_any_of([*names["words"], rf"{not_these}.*(?:{'|'.join(names['endings'])})"]),
        strict_words=_any_of(
            [*names["strict_words"], rf"{not_these}.*(?:{'|'.join(names['strict_endings'])})"]
        ),
        leaves=frozenset(names["leaves"]),
        harmless_names=_any_of(names["harmless"]),
        names_of_files=re.compile(rf"(?i)(?:{'|'.join(names['files'])})s?$"),
        scopes=table["scopes"],
        exempt_facts=_any_of(map(translate, table["facts"]["exempt"])),
        options=tuple(re.compile(f"{row['before']}(?!<redacted>)") for row in table["options"].values()),
        first_shapes=_shapes(table, is_first=True),
        shapes=_shapes(table, is_first=False),
        shortest=random["shortest"],
        long_word=re.compile(rf"[A-Za-z0-9+/_-]{{{random['shortest']},}}={{0,2}}"),
        smallest_ratio=random["smallest_ratio"],
        smallest_ratio_of_letters=random["smallest_ratio_of_letters"],
        fewest_different=random["fewest_different"],
        harmless_values=_any_of(random["harmless"]),
        digest=re.compile(random["digest"]),
        exempt_sections=frozenset(random["exempt_sections"]),
        never=_any_of(map(translate, table["files"]["never"])),
    )


def translate(glob: str) -> str:
    """A glob as a pattern: `*` stays within one part of a path, `**` does not."""
    return "".join(
        {"**": ".*", "*": "[^/]*"}.get(piece) or re.escape(piece) for piece in re.split(r"(\*+)", glob)
    )


def _shapes(table: Mapping[str, Any], *, is_first: bool) -> tuple[re.Pattern[str], ...]:
    rows = table["values"].values()
    return tuple(re.compile(row["pattern"]) for row in rows if row.get("first", False) == is_first)


def _any_of(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))
