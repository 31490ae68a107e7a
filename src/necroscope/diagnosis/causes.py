"""The rules of causes.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from necroscope.model.advice import Advice
from necroscope.model.shell_command import shell_command

OF_THE_ROOT = "what the root asks for"  # the advice that belongs to the root of the chain


@dataclass(frozen=True, slots=True)
class LinkRule:
    """One step from a cause to an effect, and what must be seen for it."""

    id: str
    source: str
    target: str
    cause: str
    effect: str
    when: tuple[str, ...]
    needs: tuple[str, ...]
    reference: str
    refuted_by: str
    may_lack: tuple[str, ...] = ()
    supports: tuple[str, ...] = ()
    bounds: tuple[str, ...] = ()
    missing: str = ""
    remedies: tuple[str, ...] = ()  # what breaks this link: a remedy, and a word for its subject, if any


@dataclass(frozen=True, slots=True)
class RivalRule:
    """Another explanation, and the facts that rule it out."""

    id: str
    of: tuple[str, ...]  # kinds of symptoms
    explanation: str
    out: tuple[str, ...]
    why_out: str
    why_in: str


@dataclass(frozen=True, slots=True)
class AdviceRule:
    """What is advised. Each word of the command stays one word, whatever is put into it."""

    text: str
    command: str = ""

    def filled(self, words: Mapping[str, str]) -> Advice:
        """Return the advice with the words of a scene in it."""
        command = [word.format_map(words) for word in self.command.split()]
        return Advice(self.text.format_map(words), shell_command(command))


@dataclass(frozen=True, slots=True)
class ConclusionRule:
    """What is said where some facts hold."""

    id: str
    of: tuple[str, ...]
    when: tuple[str, ...]
    verdict: str
    advice: tuple[AdviceRule, ...]
    explains: bool = False  # whether the chain leads to it


@dataclass(frozen=True, slots=True)
class Causes:
    """All rules, in the order of the file."""

    links: tuple[LinkRule, ...]
    rivals: tuple[RivalRule, ...]
    conclusions: tuple[ConclusionRule, ...]


def as_manual(sentence: str) -> str:
    """A sentence for a manual page: `core <core>`, where a diagnosis would say `core 5`."""
    return re.sub(r"\{(\w+)\}", lambda match: f"<{match[1].replace('_', ' ')}>", sentence)


@cache
def load_causes() -> Causes:
    """The rules as they are shipped."""
    document = tomllib.loads(files("necroscope.diagnosis").joinpath("causes.toml").read_text())
    links, rivals, conclusions = (document[name].items() for name in ("links", "rivals", "conclusions"))
    return Causes(
        tuple(LinkRule(id, **_fields(row)) for id, row in links),
        tuple(RivalRule(id, **_fields(row)) for id, row in rivals),
        tuple(
            ConclusionRule(id, **_fields({**row, "advice": [*map(_advice, row["advice"])]}))
            for id, row in conclusions
        ),
    )


def _fields(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table by the names of the fields; `from` is a word of Python."""
    names = {"from": "source", "to": "target"}
    return {names.get(name, name): tuple(v) if isinstance(v, list) else v for name, v in row.items()}


def _advice(row: str | dict[str, str]) -> AdviceRule:
    """Return a row of advice: a text alone, or with its command."""
    return AdviceRule(row) if isinstance(row, str) else AdviceRule(row["text"], row["command"])
