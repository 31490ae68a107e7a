"""Write docs/incident.md from a run of this scenario.

    python -m lab.scenarios.pinterest.write_page build/lab/pinterest docs/incident.md

The words that are the same each time are in story.md, and name results in braces, as expect.toml does:
{job.before.seconds}, {zombies.at_stall:,}, and {said.diagnose} for what the program said. Names and paths of
the machine are replaced by neutral ones. The flame graphs go into a folder beside the page. A run that did
not come out as expected, by its outcome.json, is not written down.
"""

from __future__ import annotations

import json
import platform
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lab.running.expectation import NOT_THERE, Results, find
from lab.running.run import OUTCOME
from lab.scenarios.pinterest.answers import LOOK, VERIFY

STORY = Path(__file__).with_name("story.md")
GRAPHS = ("flame.svg", "difference.svg")
PLACE = re.compile(r"\{([a-z_][\w.]*)(?::([^}]*))?\}")
# What of a text is shown: all before these words, which begin what the page says that it leaves out.
ENDS = {"plan": "\nBy hand\n"}
FIX = {"before": "", "during": ", the fix in it", "after": ", after the fix"}
MOMENTS = {
    "failed_step_began": "the job's step {step} begins",
    "job_failed": "the job fails: that step has waited for the network past its timeout of {timeout:g} s",
    "line": "core {core} has been in the kernel for 5 s, and the line is written",
}


class PageError(ValueError):
    """A story that asks for what the run did not give, or a run that cannot be told."""


def main(argv: Sequence[str]) -> int:
    """Write the page; 1 if the run was not as expected."""
    run, page = Path(argv[0]), Path(argv[1])
    try:
        write_page(run, page)
    except PageError as error:
        print(f"incident page: {error}", file=sys.stderr)
        return 1
    return 0


def write_page(run: Path, page: Path) -> None:
    """The page, and the graphs in a folder of its name."""
    refuse_unless_as_expected(run)
    text = fill(STORY.read_text(), read_run(run))
    folder = page.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    for name in GRAPHS:
        (folder / name).write_text(redact((run / name).read_text()))
    page.write_text(text)


def refuse_unless_as_expected(run: Path) -> None:
    """Raise PageError with what was wrong with a run."""
    try:
        outcome = json.loads((run / OUTCOME).read_text())
    except FileNotFoundError as error:
        raise PageError(f"no run has ended in {run}: there is no {OUTCOME}") from error
    if not outcome["as_expected"]:
        failed = [one["that"] for one in outcome["checks"] if not one["holds"]]
        why = [*outcome["unfit"], outcome["failure"], *failed, *outcome["left_behind"]]
        raise PageError(f"the run was not as expected: {'; '.join(filter(None, why))}")


def read_run(run: Path) -> Results:
    """What a run left: its results, and what the program said."""
    results: Results = json.loads(redact((run / "results.json").read_text()))
    outcome = json.loads((run / OUTCOME).read_text())
    said = {path.stem: _shortened(path.stem, path.read_text()) for path in (run / "said").glob("*.txt")}
    results["rounds"]["table"] = _rounds_table(results["rounds"]["all"])
    results["timeline"]["table"] = _timeline_table(results)
    return results | {
        "said": {name: redact(text).strip("\n") for name, text in said.items()},
        "transcript": redact((run / "transcript.txt").read_text()).strip("\n"),
        "stand_ins": {"list": "\n".join(f"- {one}" for one in outcome["stand_ins"])},
        "asked": {"look": LOOK, "verify": " ".join(VERIFY)},
        "run": {"seconds": outcome["seconds"]},
        "kernel": _short_release(),
    }


def redact(text: str) -> str:
    """Without the names and paths of this machine, as on a node with the default store."""
    text = re.sub(r"\s+--store\s+\S+", "", text)
    text = re.sub(r"/\S*/plan\.json", "plan.json", text)
    text = re.sub(r"lab-[0-9a-f]{12}", "node-1", text)
    text = re.sub(r"/[0-9a-f]{32}\b", "/#", text)  # sessions of others, where the plan names their cgroups
    if ours := _own_cgroup():
        text = text.replace(f"/{ours}", "/others")
    return text.replace(platform.release(), _short_release())


def fill(story: str, results: Results) -> str:
    """The story with the results in their places."""

    def value(place: re.Match[str]) -> str:
        found: Any = find(place[1], results)
        if found == NOT_THERE or found is None:
            raise PageError(f"the story asks for {place[1]}, which the run did not give")
        return format(found, place[2] or "")

    return PLACE.sub(value, story)


def _rounds_table(rounds: Sequence[Mapping[str, Any]]) -> str:
    rows = [f"| {one['zombies']:,}{FIX[one['fix']]} | {one['seconds']:.2f} s |" for one in rounds]
    return "\n".join(["| zombies when it began | the round took |", "|---|---|", *rows])


def _timeline_table(results: Results) -> str:
    """What came when, in the order in which it came."""
    failed = results.get("job", {}).get("during", {})
    facts = {
        "core": results["made"]["core"],
        "step": failed.get("failed_step"),
        "timeout": failed.get("timeout_seconds", 0.0),
    }
    times = {0.0: "kubelet's round begins"}
    for name, words in MOMENTS.items():
        if (seconds := results["timeline"].get(name)) is not None:
            times[seconds] = words.format(**facts)
    rows = [f"| {seconds:.2f} s | {what} |" for seconds, what in sorted(times.items())]
    return "\n".join(["| | |", "|---|---|", *rows])


def _own_cgroup() -> str:
    """The topmost memory cgroup that this session is in: a name of this machine."""
    rows = [row.split(":", 2) for row in Path("/proc/self/cgroup").read_text().splitlines()]
    paths = [path for _, names, path in rows if "memory" in names.split(",")]
    return paths[0].split("/")[1] if paths else ""


def _short_release() -> str:
    return ".".join(platform.release().split(".")[:2])


def _shortened(name: str, text: str) -> str:
    end = ENDS.get(name)
    return text.partition(end)[0].rstrip() if end and end in text else text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
