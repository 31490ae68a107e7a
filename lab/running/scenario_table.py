"""The table of scenarios in docs/lab.md, made from the scenarios themselves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from lab.running.run_folder import CHECKOUT
from lab.running.scenario import Scenario

PAGE = CHECKOUT / "docs/lab.md"
BEGIN, END = "<!-- table of scenarios: python -m lab document -->\n", "<!-- end of table -->\n"
HEAD = "| scenario | about | in `make test-real` | needs | what it is |\n|---|---|---|---|---|\n"


def table(scenarios: Mapping[str, Scenario]) -> str:
    """A row for each."""
    return HEAD + "".join(_row(one) for one in scenarios.values())


def replace_table(page: str, scenarios: Mapping[str, Scenario]) -> str:
    """The page with the table as it should be."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{table(scenarios)}{END}{after}"


def write_table(scenarios: Mapping[str, Scenario], page: Path = PAGE) -> None:
    """Bring the page up to date."""
    page.write_text(replace_table(page.read_text(), scenarios))


def _row(one: Scenario) -> str:
    link = f"[`{one.id}`](../lab/scenarios/{one.folder.name}/README.md)"
    cells = [link, f"{one.seconds:.0f} s", "yes" if one.is_fast else "no", ", ".join(one.needs), one.title]
    return f"| {' | '.join(cells)} |\n"
