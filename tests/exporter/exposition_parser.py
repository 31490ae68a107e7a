"""A strict reader of the Prometheus text format 0.0.4, for tests: it refuses what is not exactly right."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
HELP = re.compile(rf"# HELP ({NAME}) (.+)")
TYPE = re.compile(rf"# TYPE ({NAME}) (counter|gauge)")
SAMPLE = re.compile(rf"({NAME})(?:\{{(.*)\}})? (-?(?:\d+(?:\.\d+)?(?:e[+-]\d+)?))")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)')


@dataclass
class Parsed:
    """One family: label names in order, and values by label values."""

    kind: str
    help: str
    labels: tuple[str, ...] | None = None
    values: dict[tuple[str, ...], float] = field(default_factory=dict)


def parse(text: str) -> dict[str, Parsed]:
    """All families of a text; AssertionError on any deviation."""
    assert text.endswith("\n")
    families: dict[str, Parsed] = {}
    lines = iter(text[:-1].split("\n"))
    current = ""
    for line in lines:
        if line.startswith("#"):
            head = HELP.fullmatch(line)
            assert head, line
            assert not current or families[current].values, f"{current} has no value"
            kind = TYPE.fullmatch(next(lines))
            assert kind and kind[1] == head[1], line
            current = head[1]
            assert current not in families, f"{current} comes twice"
            families[current] = Parsed(kind[2], head[2])
            continue
        sample = SAMPLE.fullmatch(line)
        assert sample and sample[1] == current, line
        names, values = parse_labels(sample[2] or "")
        family = families[current]
        assert family.labels in (None, names), line
        family.labels = names
        assert values not in family.values, f"{line} comes twice"
        family.values[values] = float(sample[3])
    return families


def parse_labels(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names and unescaped values."""
    names, values, at = [], [], 0
    while at < len(text):
        match = LABEL.match(text, at)
        assert match, text[at:]
        names.append(match[1])
        values.append(re.sub(r"\\(.)", lambda m: {"n": "\n"}.get(m[1], m[1]), match[2]))
        at = match.end()
    return tuple(names), tuple(values)
