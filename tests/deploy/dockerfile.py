"""A Dockerfile as its instructions and stages, and what an ignore file leaves of a context."""

from __future__ import annotations

import re
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: `COPY`, and what comes behind it, on one line."""

    name: str
    words: str

    @property
    def flags(self) -> dict[str, str]:
        """`--from=page` and the like."""
        return dict(re.findall(r"(?:^|\s)--([a-z]+)=(\S+)", self.words))

    @property
    def operands(self) -> list[str]:
        """The words that are no flags."""
        return [word for word in self.words.split() if not word.startswith("--")]


@dataclass(slots=True)
class Stage:
    """From one FROM to the next."""

    name: str
    origin: str  # the image or the stage that it begins with
    instructions: list[Instruction] = field(default_factory=list)

    def all(self, name: str) -> list[Instruction]:
        """Its instructions of one kind."""
        return [instruction for instruction in self.instructions if instruction.name == name]


@dataclass(frozen=True, slots=True)
class Dockerfile:
    """The arguments before the first stage, and the stages in their order."""

    arguments: dict[str, str]
    stages: dict[str, Stage]

    def lineage(self, name: str) -> list[Stage]:
        """A stage and those that it begins with, the innermost last."""
        stages = [self.stages[name]]
        while stages[-1].origin in self.stages:
            stages.append(self.stages[stages[-1].origin])
        return stages


def parse_dockerfile(text: str) -> Dockerfile:
    """Comments are left out, and lines that end with a backslash joined."""
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    arguments: dict[str, str] = {}
    stages: dict[str, Stage] = {}
    for line in re.sub(r"\\\n\s*", "", lines).splitlines():
        if not line.strip():
            continue
        name, words = line.split(maxsplit=1)
        if name == "FROM":
            origin, _, stage = re.fullmatch(r"(\S+)( AS (\S+))", words).groups()  # type: ignore[union-attr]
            argument = re.fullmatch(r"\$\{(\w+)\}", origin)
            stages[stage] = Stage(stage, arguments[argument[1]] if argument else origin)
        elif not stages:
            key, _, value = words.partition("=")
            arguments[key] = value
        else:
            stages[list(stages)[-1]].instructions.append(Instruction(name, words))
    return Dockerfile(arguments, stages)


def is_ignored(path: str, patterns: str) -> bool:
    """Whether an ignore file leaves a path out: the last of its lines that matches decides."""
    ignored = False
    for line in patterns.splitlines():
        pattern = line.strip()
        if pattern and not pattern.startswith("#") and _matches(path, pattern.removeprefix("!")):
            ignored = not pattern.startswith("!")
    return ignored


def _matches(path: str, pattern: str) -> bool:
    """Whether a pattern names the path or a folder above it."""
    parts = re.split(r"(\*\*/|\*)", pattern)
    wild = {"**/": "(?:.*/)?", "*": "[^/]*"}
    expression = "".join(wild.get(part, re.escape(part)) for part in parts)
    return re.fullmatch(f"{expression}(?:/.*)?", path) is not None
