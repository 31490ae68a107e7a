"""Write docs/kernels.md and the results that it shows.

    python -m lab.scenarios.kernels.write_page              # plays the whole scenario first
    python -m lab.scenarios.kernels.write_page FOLDER...    # from runs of it, each with some of the machines

Writes nothing unless every machine was probed and all is as expected. A folder is that of a run, as in
`python -m lab run kernels --without here`.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from lab.running.expectation import Results, check
from lab.running.run import run
from lab.running.scenario import all_scenarios
from lab.running.stage import Stage
from lab.scenarios.kernels.judging import where_not
from lab.scenarios.kernels.machines import machines
from lab.scenarios.kernels.page import kernels_page

PAGE = Path(__file__).parents[3] / "docs/kernels.md"
RESULTS = Path(__file__).with_name("results.json")  # what the page was made from


def main() -> int:
    """Play or read, compare, write."""
    try:
        results = joined(Path(name) for name in sys.argv[1:]) if sys.argv[1:] else _played()
    except RuntimeError as error:
        sys.stderr.write(f"not written: {error}\n")
        return 1
    if faults := _faults(results):
        sys.stderr.write("\n".join(["not written:", *faults, ""]))
        return 1
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    PAGE.write_text(kernels_page(results))
    print(f"wrote {PAGE}")
    return 0


def joined(folders: Iterable[Path]) -> Results:
    """The results of several runs as those of one; a later one counts where two have the same machine."""
    runs: list[Any] = [json.loads((folder / "results.json").read_text()) for folder in folders]
    found = {id: one for results in runs for id, one in results["machines"].items()}
    every = [one for one in machines(None) if one.id in found]
    return {
        "date": max(results["date"] for results in runs),
        "machines": {one.id: found[one.id] for one in every},
        "names": {one.id: one.name for one in every},
        "where_not": where_not(found),
    }


def _played() -> Results:
    with tempfile.TemporaryDirectory(prefix="necroscope-lab-") as name:
        stage = Stage(folder=Path(name))
        outcome = run(all_scenarios()["kernels"], stage)
    if troubles := [*outcome.unfit, *outcome.failure.splitlines(), *outcome.left_behind]:
        raise RuntimeError("; ".join(troubles))
    return stage.results


def _faults(results: Results) -> Sequence[str]:
    missing = [f"{one.name} was not probed" for one in machines(None) if one.id not in results["machines"]]
    wanted = all_scenarios()["kernels"].expectations
    checks = [check(one, results) for one in wanted if not one.part.startswith("given")]
    return [*missing, *(f"{one.that}: {one.seen}, wanted {one.wanted}" for one in checks if not one.holds)]


if __name__ == "__main__":
    sys.exit(main())
