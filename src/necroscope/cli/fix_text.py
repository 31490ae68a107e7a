"""A plan, and what came of it, for people."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from necroscope.cli.finding_text import not_checked_lines
from necroscope.cli.fix_records import OlderFixes
from necroscope.cli.screen import Screen
from necroscope.model.examination import NotChecked
from necroscope.model.fix import Fix, FixState, StepState
from necroscope.model.plan import ByHand, Plan, Step
from necroscope.model.remedy_ids import ADVICE
from necroscope.model.shell_command import option
from necroscope.model.timestamp import iso_utc
from necroscope.model.visible_text import visible_text
from necroscope.remedies.apply.fixes import Fixes
from necroscope.remedies.apply.recovery_hints import our_command, undo_command, ways_out

INDENT = 3
PLAN_FILE = "plan.json"
COMMAND_INDENT = 5
# What steps do, for a sentence; of others, the id of the action says it.
DEEDS = {
    "stop-unit": "stop",
    "remove-links": "disable",
    "make-link": "mask",
    "write-file": "write",
    "restart-unit": "restart",
    "set-affinity": "move interrupt",
}
FREEING = ("force-empty", "reclaim", "drop-caches")
STYLES = {
    FixState.APPLIED: "good",
    FixState.UNDONE: "info",
    FixState.UNDONE_IN_PART: "warning",
    FixState.FAILED: "critical",
    FixState.UNFINISHED: "warning",
    FixState.UNDOING: "warning",
}


@dataclass(frozen=True, slots=True)
class Shown:
    """A plan, and what whoever reads it has to know with it."""

    plan: Plan
    not_checked: tuple[NotChecked, ...]  # of the look that it rests on
    older: OlderFixes
    expected: tuple[str, ...]  # how it will be verified


def plan_lines(screen: Screen, shown: Shown, arguments: argparse.Namespace) -> Iterator[str]:
    """A plan that nobody has carried out yet."""
    plan = shown.plan
    yield from _older_lines(screen, shown.older, arguments.store)
    yield screen.paint(screen.wrap(_head(shown)), "bold")
    yield from _in_short(screen, plan, arguments)
    yield from _bullets(screen, "Why", plan.reasons)
    yield from _bullets(screen, "What was seen", plan.seen)
    for number, step in enumerate(plan.steps, start=1):
        yield ""
        yield from _step_lines(screen, number, step)
    if plan.by_hand:
        yield ""
        yield screen.paint("By hand", "bold")
    for advice in plan.by_hand:
        yield from _advice_lines(screen, advice)
    yield from _bullets(screen, "Mind", plan.warnings)
    yield from _bullets(screen, "The node cannot do without what this stops", plan.vital, "critical")
    yield from _bullets(screen, "How it will be verified", shown.expected)
    yield from not_checked_lines(screen, (*shown.not_checked, *shown.older.not_checked))
    yield ""
    yield from _ending(screen, plan, arguments)


def done_lines(
    screen: Screen, fix: Fix, store: Path, not_checked: Sequence[NotChecked] = ()
) -> Iterator[str]:
    """A fix that was just carried out or taken back, or was interrupted."""
    yield screen.paint(screen.wrap(f"{fix.id}: {fix.state.value}"), STYLES[fix.state])
    yield from _progress_lines(screen, fix)
    yield from not_checked_lines(screen, not_checked)
    yield ""
    has_to_be_taken_back = any(progress.before for progress in fix.progress)
    if fix.state is FixState.APPLIED:
        if not fix.plan.is_image:
            verify = our_command("verify", [fix.id], (), fix.plan.root, store)
            yield _command_line(screen, "Did it help?", verify)
        if has_to_be_taken_back:
            yield _command_line(screen, "To take it back:", undo_command(fix, store))
    elif fix.not_as_before:
        yield screen.wrap(f"All is as it was before, except: {fix.not_as_before}")
    elif fix.state is not FixState.UNDONE:
        yield screen.wrap(f"Interrupted. {ways_out(fix, store)}")
    elif has_to_be_taken_back:
        yield "All is as it was before."
    else:
        yield screen.wrap("None of these steps has to be taken back.")


def list_lines(screen: Screen, found: Fixes, older: OlderFixes, store: Path) -> Iterator[str]:
    """All fixes, the newest first."""
    yield from _older_lines(screen, older, store)
    if not found.fixes:
        yield "no fix has been carried out with this store"
    for place, fix in enumerate(reversed(found.fixes)):
        if place:
            yield ""
        yield screen.paint(screen.wrap(f"{fix.id}: {fix.state.value}"), STYLES[fix.state])
        done = f"{fix.plan.where}: {', '.join(map(str, fix.plan.treatments))}"
        yield screen.wrap(f"{done}; {fix.who}, {iso_utc(fix.begun_ns)}", 2)
        yield from _progress_lines(screen, fix)


def _older_lines(screen: Screen, older: OlderFixes, store: Path) -> Iterator[str]:
    """Older fixes first: they have to be ended, some of them before anything else is done."""
    for fix in older.unfinished:
        yield screen.paint(screen.wrap(f"{fix.id} ended in the middle"), "warning")
        yield from _progress_lines(screen, fix)
        yield screen.wrap(ways_out(fix, store), 2)
        yield ""
    for fix in older.failed:
        yield screen.paint(screen.wrap(f"{fix.id} failed, and what it did before that holds"), "warning")
        yield screen.wrap(ways_out(fix, store), 2)
        yield ""
    notes = [f"a fix is being carried out by {older.holder}"] if older.holder else []
    notes += [f"the record of an older fix is damaged: {one.error.what}" for one in older.damaged]
    for line in notes:
        yield screen.paint(screen.wrap(line), "warning")
        yield ""


def _progress_lines(screen: Screen, fix: Fix) -> Iterator[str]:
    for number, (step, progress) in enumerate(zip(fix.plan.steps, fix.progress, strict=True), start=1):
        state = "begun, and nothing tells whether it ended" if progress.state is StepState.BEGUN else ""
        outcome = f": {progress.outcome}" if progress.outcome else ""
        text = f"{number}. {step.action} {step.target}: {state or progress.state.value}{outcome}"
        yield screen.wrap(text, 2, 5)


def _head(shown: Shown) -> str:
    plan = shown.plan
    if plan.steps or plan.by_hand:
        done = [str(one) for one in plan.treatments if one.remedy not in ADVICE or not plan.steps]
        return f"{plan.where}: {', '.join(done)}"
    # What was not looked at is not known to be well.
    how_far = " in what could be looked at" if shown.not_checked and not plan.treatments else ""
    return f"{plan.where}: nothing to do{how_far}"


def _step_lines(screen: Screen, number: int, step: Step) -> Iterator[str]:
    yield screen.paint(screen.wrap(f"{number}. {step.action} {step.target}", 0, INDENT), "bold")
    yield from _exact(step.command)
    yield _table(screen, (("why", step.why), ("risk", step.risk), ("cost", step.cost), ("undo", step.undo)))


def _advice_lines(screen: Screen, advice: ByHand) -> Iterator[str]:
    for command in advice.commands:
        yield from _exact(command)
    yield _table(screen, (("why", advice.why), ("cost", advice.cost)))


def _table(screen: Screen, rows: Sequence[tuple[str, str]]) -> str:
    """What is known of a step; several commands stand on one line."""
    return screen.table((name, text.replace("\n", "; ")) for name, text in rows if text)


def _exact(command: str) -> Iterator[str]:
    """Lines to be copied: as they are, however wide, but for what would steer the terminal."""
    for line in command.split("\n"):
        yield f"{' ' * COMMAND_INDENT}{visible_text(line)}".rstrip()


def _bullets(screen: Screen, title: str, lines: Sequence[str], style: str = "bold") -> Iterator[str]:
    if lines:
        yield ""
        yield screen.paint(title, style)
        yield from (screen.wrap(f"- {line}", 2, 4) for line in lines)


def _in_short(screen: Screen, plan: Plan, arguments: argparse.Namespace) -> Iterator[str]:
    """All that the steps do in a sentence, and how to have it done, for the first screen."""
    if not plan.steps:
        return
    what = ", ".join(dict.fromkeys(_deed(step) for step in plan.steps))
    count = f"{len(plan.steps)} steps" if len(plan.steps) > 1 else "1 step"
    yield screen.wrap(f"{count}: {what}")
    for title, command in _commands(plan, arguments):
        yield _command_line(screen, title, command)


def _deed(step: Step) -> str:
    if step.action in FREEING:
        return "free zombies"
    return f"{DEEDS.get(step.action, step.action)} {step.target}"


def _ending(screen: Screen, plan: Plan, arguments: argparse.Namespace) -> Iterator[str]:
    if not plan.steps:
        yield "Nothing was changed."
        return
    start = "Nothing was changed. "
    for title, command in _commands(plan, arguments):
        yield _command_line(screen, f"{start}{title}", command)
        start = ""
    if arguments.what in _names_for(plan, arguments) and len(plan.treatments) > 1:
        yield screen.wrap("That looks again. To do exactly this: -o FILE, then --plan FILE --apply")


def _commands(plan: Plan, arguments: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """What has this plan carried out, each command with its title."""
    names, plan_file = _names_for(plan, arguments), arguments.plan or arguments.output
    title = "To do it:"
    if not names and not plan_file:
        keep = our_command("fix", (), ("-o", PLAN_FILE), arguments.root, arguments.store)
        yield "To keep this plan:", keep
        title, plan_file = "Then, to do it:", PLAN_FILE
    options = [*(option("--plan", str(plan_file)) if plan_file else ()), "--apply"]
    options += ["--even-vital"] if plan.vital else []
    yield title, our_command("fix", names, options, arguments.root, arguments.store)


def _names_for(plan: Plan, arguments: argparse.Namespace) -> list[str]:
    """Return the names that ask for this plan again; none if only a file can."""
    if arguments.plan or arguments.output:
        return []
    if len(plan.treatments) == 1:
        return [plan.treatments[0].remedy, *filter(None, [plan.treatments[0].subject])]
    return [*filter(None, [arguments.what, arguments.subject])]


def _command_line(screen: Screen, title: str, text: str) -> str:
    """A command to be copied, on a line of its own if it does not fit behind its title."""
    fits = len(title) + 1 + len(text) <= screen.width
    return f"{title} {visible_text(text)}" if fits else f"{title}\n  {visible_text(text)}"
