"""The rules of causes.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

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
    may_lack: tuple[str, ...]
    supports: tuple[str, ...]
    bounds: tuple[str, ...]
    missing: str
    reference: str
    refuted_by: str
    remedies: tuple[str, ...]  # what breaks this link: a remedy, and a word for its subject where it has one


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
    explains: bool  # whether the chain leads to it


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
    links = [
        LinkRule(
            id=id,
            source=row["from"],
            target=row["to"],
            cause=row["cause"],
            effect=row["effect"],
            when=tuple(row["when"]),
            needs=tuple(row["needs"]),
            may_lack=tuple(row.get("may_lack", ())),
            supports=tuple(row.get("supports", ())),
            bounds=tuple(row.get("bounds", ())),
            missing=row.get("missing", ""),
            reference=row["reference"],
            refuted_by=row["refuted_by"],
            remedies=tuple(row.get("remedies", ())),
        )
        for id, row in document["links"].items()
    ]
    rivals = [
        RivalRule(id, tuple(row["of"]), row["explanation"], tuple(row["out"]), row["why_out"], row["why_in"])
        for id, row in document["rivals"].items()
    ]
    conclusions = [
        ConclusionRule(
            id=id,
            of=tuple(row["of"]),
            when=tuple(row["when"]),
            verdict=row["verdict"],
            advice=tuple(map(_advice, row["advice"])),
            explains=row.get("explains", False),
        )
        for id, row in document["conclusions"].items()
    ]
    return Causes(tuple(links), tuple(rivals), tuple(conclusions))


def _advice(row: str | dict[str, str]) -> AdviceRule:
    """Return a row of advice: a text alone, or with its command."""
    return AdviceRule(row) if isinstance(row, str) else AdviceRule(row["text"], row["command"])
