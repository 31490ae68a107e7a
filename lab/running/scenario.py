"""A scenario is a folder below lab/scenarios.

README.md       for a person: what it does, what is real and what is not, what it needs; begins with its title
scenario.toml   needs, about how many seconds it takes, whether it is fast enough for `make test-real`
make.py         play(stage): makes the fault, waits for the effect and asks; when it returns, all is undone
expect.toml     what the results must be (see `expectation`)
"""

from __future__ import annotations

import importlib.util
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lab.running.expectation import Expectation, read_expectations
from lab.running.stage import Stage

SCENARIOS = Path(__file__).parents[1] / "scenarios"


@dataclass(frozen=True, slots=True)
class Scenario:
    """One that can be played."""

    id: str
    title: str
    folder: Path
    needs: tuple[str, ...]  # ids of `needs`
    seconds: float  # that it takes, about
    is_fast: bool
    parts: tuple[str, ...]  # that can be left out
    expectations: tuple[Expectation, ...]
    soak_seconds: float = 0.0  # of its seconds: those that `--times-faster` shortens

    def seconds_at(self, times_faster: float) -> float:
        """That it takes, about, if what can be shortened is."""
        return self.seconds - self.soak_seconds + self.soak_seconds / times_faster

    @property
    def play(self) -> Callable[[Stage], None]:
        """Its play; only now imported, because a part of it may need what is not installed."""
        name, path = f"lab.scenarios.{self.folder.name}.make", self.folder / "make.py"
        specification = importlib.util.spec_from_file_location(name, path)
        if specification is None or specification.loader is None:
            raise ImportError(f"{path} is no module")
        sys.modules[name] = module = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(module)
        function: Callable[[Stage], None] = module.play
        return function


def all_scenarios(folder: Path = SCENARIOS) -> dict[str, Scenario]:
    """Every scenario by its id, in the order in which they are best read."""
    found = [_read(path.parent) for path in folder.glob("*/scenario.toml")]
    return {one.id: one for one in sorted(found, key=lambda one: (one.id != "pinterest", one.id))}


def _read(folder: Path) -> Scenario:
    facts = tomllib.loads((folder / "scenario.toml").read_text())
    title = (folder / "README.md").read_text().partition("\n")[0].removeprefix("# ")
    return Scenario(
        id=folder.name.replace("_", "-"),
        title=title,
        folder=folder,
        needs=tuple(facts["needs"]),
        seconds=float(facts["seconds"]),
        is_fast=facts.get("fast", False),
        parts=tuple(facts.get("parts", ())),
        expectations=read_expectations(folder / "expect.toml"),
        soak_seconds=float(facts.get("soak_seconds", 0)),
    )
