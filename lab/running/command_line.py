"""The lab's command line: list the scenarios, play one, play all."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from lab.running.live_view import LiveView, live_view, watched
from lab.running.outcome import Outcome
from lab.running.outcome_text import SCHEMA, list_text, outcome_document, outcome_text, table_text
from lab.running.run import run
from lab.running.run_folder import DEFAULT, FolderError, check_folder, empty_folder
from lab.running.scenario import SCENARIOS, Scenario, all_scenarios
from lab.running.scenario_table import write_table
from lab.running.stage import Stage

AS_EXPECTED, DIFFERENT, USAGE, UNFIT, INTERRUPTED = 0, 1, 2, 3, 130
ALL_TIMES_FASTER = 20.0  # nobody who plays all wants to wait for an hour of soak
FASTER = f"run: 1, all: {ALL_TIMES_FASTER:g}"
CODES = """exit codes:
  0    all as expected
  1    something was not, or was left behind
  2    usage
  3    this machine is not fit for one of them, and the others are as expected
  130  interrupted; all is undone"""

Outcomes = dict[str, list[Outcome]]


def main(argv: Sequence[str], folder: Path = SCENARIOS) -> int:
    """Do what is asked for; the exit code."""
    scenarios = all_scenarios(folder)
    parser = _parser()
    arguments = parser.parse_args(argv or ["list"])
    if arguments.verb == "list":
        print(list_text(scenarios))
        return AS_EXPECTED
    if arguments.verb == "document":
        write_table(scenarios)
        return AS_EXPECTED
    if fault := next(_faults(arguments, scenarios), ""):
        print(f"lab: {fault}", file=sys.stderr)
        return USAGE
    outcomes = _play_all(_chosen(arguments, scenarios), arguments)
    _print_if_read(outcomes, is_json=arguments.json)
    return exit_code([one for runs in outcomes.values() for one in runs])


def exit_code(outcomes: Sequence[Outcome]) -> int:
    """What a shell should know of some runs."""
    if any(one.is_interrupted for one in outcomes):
        return INTERRUPTED
    if any(not one.unfit and not one.is_as_expected for one in outcomes):
        return DIFFERENT
    return UNFIT if any(one.unfit for one in outcomes) else AS_EXPECTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m lab",
        description="Break this machine on purpose, see whether it is found out, and undo it.",
        epilog=CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("list", help="every scenario, and whether it can be played here")
    verbs.add_parser("document", help="write the table of scenarios into docs/lab.md")
    one = verbs.add_parser(
        "run", help="play one scenario", epilog=CODES, formatter_class=parser.formatter_class
    )
    one.add_argument("scenario")
    every = verbs.add_parser("all", help="play all", epilog=CODES, formatter_class=parser.formatter_class)
    for verb in (one, every):
        verb.add_argument("--times", type=int, default=1, metavar="N", help="play it so many times (1)")
        verb.add_argument("--kernel", type=Path, metavar="FILE", help="a kernel to boot in guests")
        verb.add_argument("--without", action="append", default=[], metavar="PART", help="leave out a part")
        verb.add_argument("--times-faster", type=float, metavar="X", help=f"shorten a soak ({FASTER})")
        verb.add_argument("--output", type=Path, default=DEFAULT, metavar="DIR", help="default: build/lab")
        verb.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    return parser


def _chosen(arguments: argparse.Namespace, scenarios: Mapping[str, Scenario]) -> Mapping[str, Scenario]:
    return scenarios if arguments.verb == "all" else {arguments.scenario: scenarios[arguments.scenario]}


def _faults(arguments: argparse.Namespace, scenarios: Mapping[str, Scenario]) -> Iterator[str]:
    """What is wrong with what was asked for, found before anything is played; only the first is of use."""
    if arguments.verb == "run" and arguments.scenario not in scenarios:
        yield f"no scenario {arguments.scenario}; there are: {', '.join(scenarios)}"
    chosen = _chosen(arguments, scenarios)
    parts = dict.fromkeys(part for one in chosen.values() for part in one.parts)
    if unknown := [part for part in arguments.without if part not in parts]:
        yield f"no part {', '.join(unknown)}; there are: {', '.join(parts) or 'none'}"
    if arguments.kernel and not arguments.kernel.exists():
        yield f"no kernel {arguments.kernel}"
    if arguments.times < 1:
        yield "--times: one or more"
    if arguments.times_faster is not None and not (0 < arguments.times_faster < math.inf):
        yield "--times-faster: more than nothing"
    for id in chosen:
        try:
            check_folder((arguments.output / id).resolve())
        except FolderError as error:
            yield str(error)


def _play_all(scenarios: Mapping[str, Scenario], arguments: argparse.Namespace) -> Outcomes:
    outcomes: Outcomes = {}
    with live_view((sys.stderr if arguments.json else sys.stdout).fileno()) as view:
        for id, scenario in scenarios.items():
            runs = outcomes[id] = []
            for number in range(1, arguments.times + 1):
                runs.append(_play(scenario, arguments, number if arguments.times > 1 else 0, view))
                if runs[-1].is_interrupted:
                    return outcomes
                if runs[-1].unfit:
                    break
    return outcomes


def _play(scenario: Scenario, arguments: argparse.Namespace, number: int, view: LiveView) -> Outcome:
    try:
        folder = empty_folder(arguments.output, scenario.id, number)
    except FolderError as error:  # since we looked; what was played before is not thrown away for it
        return Outcome(scenario.id, arguments.output / scenario.id, 0.0, failure=str(error))
    stage = Stage(
        folder=folder,
        tell=view.tell,
        kernel=arguments.kernel.resolve() if arguments.kernel else None,
        without=frozenset(arguments.without) & frozenset(scenario.parts),
        times_faster=arguments.times_faster or (ALL_TIMES_FASTER if arguments.verb == "all" else 1.0),
    )
    which = f" ({number} of {arguments.times})" if number else ""
    seconds = scenario.seconds_at(stage.times_faster)
    view.tell(f"{scenario.id}{which}: {scenario.title}; about {seconds:.0f} s")
    with watched(view, stage):
        return run(scenario, stage)


def _print_if_read(outcomes: Outcomes, *, is_json: bool) -> None:
    """Print them; where nobody reads any more (`| head`), the exit code tells enough."""
    try:
        _print(outcomes, is_json=is_json)
        sys.stdout.flush()
    except OSError:
        # Python flushes once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print(outcomes: Outcomes, *, is_json: bool) -> None:
    every = [one for runs in outcomes.values() for one in runs]
    if is_json:
        code = exit_code(every)
        document = {"schema": SCHEMA, "verb": "lab", "ok": code == AS_EXPECTED, "exit_code": code}
        print(json.dumps(document | {"outcomes": [outcome_document(one) for one in every]}, indent=1))
        return
    for one in every:
        print(f"\n{outcome_text(one)}")
    if len(every) > 1:
        print(f"\n{table_text(outcomes)}")
