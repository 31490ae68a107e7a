"""What to do about it: a plan, and with --apply the deed, on record and with a way back.

necroscope fix ecs.service
necroscope fix disable-unit ecs.service --apply
necroscope fix -o plan.json
necroscope fix --plan plan.json --apply
necroscope fix --undo 20261116T050600Z-disable-unit

Without --apply, --undo or --continue nothing is changed, and nothing is written but the file of -o. --apply
wants to know what: either WHAT, for which it looks again, or the plan that you have read (--plan), which is
refused if the host is no longer as it says. Every step is checked; at the first that fails it stops, and
says how to go on and how to take back what was done. It never asks.
"""

from __future__ import annotations

import argparse
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

from necroscope.cli.answer import INTERRUPTED, Answer
from necroscope.cli.arguments import add_root, add_store, duration, look_duration
from necroscope.cli.fix_records import OlderFixes, fix_document, older_document, older_fixes
from necroscope.cli.fix_text import Shown, done_lines, list_lines, plan_lines
from necroscope.cli.output_file import refuse_existing, write_output
from necroscope.cli.screen import note, progress_bar
from necroscope.errors import StoreError, UsageError
from necroscope.model.examination import NotChecked
from necroscope.model.fix import Fix, FixState
from necroscope.model.plan import Plan
from necroscope.remedies.apply.apply import apply, continue_fix, refuse_early
from necroscope.remedies.apply.fixes import read_fixes
from necroscope.remedies.apply.lock import holder_of
from necroscope.remedies.apply.site import Site, host_to_change, one_name
from necroscope.remedies.apply.undo import undo
from necroscope.remedies.plan.make_plan import make_plan
from necroscope.remedies.plan.plan_document import plan_document, plan_text, read_plan
from necroscope.sources.host import Host

EXIT_CODES = """exit codes:
  0    planned, applied or taken back; or there is nothing to fix
  2    refused, or a step failed; usage, or our own fault
  3    could not look
  130  interrupted"""
MODES = {"--plan": "plan", "--undo": "undo", "--continue": "continue_", "--list": "list"}
IN_PART = 2  # as where a step failed
WITHOUT_PLAN = ("--undo", "--continue", "--list")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `fix` understands."""
    parser.epilog = EXIT_CODES
    parser.add_argument(
        "what",
        nargs="?",
        metavar="WHAT",
        help="a finding, a remedy, a unit, or the id of an event (default: what a look finds)",
    )
    parser.add_argument(
        "subject", nargs="?", metavar="SUBJECT", help="what the remedy is for: a unit, a core"
    )
    parser.add_argument("--apply", action="store_true", help="carry out the plan; without this it is shown")
    parser.add_argument("--plan", type=Path, metavar="FILE", help="the plan in a file, instead of a new one")
    parser.add_argument("--undo", metavar="ID", help="take back a fix, or what was done of it, at once")
    parser.add_argument(
        "--continue",
        dest="continue_",
        metavar="ID",
        help="do what is left of a fix that ended in the middle, at once",
    )
    parser.add_argument(
        "--list", action="store_true", help="the fixes of this store, and how far each has come"
    )
    parser.add_argument(
        "--even-vital", action="store_true", help="also where a node cannot do without what is stopped"
    )
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the plan to a file")
    parser.add_argument(
        "-f",
        "--force",
        action="store_true",
        help="overwrite the file of -o; with --undo, what somebody changed after the fix, and end it where"
        " a step cannot be taken back",
    )
    _add_looking(parser)


def _add_looking(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-d", "--duration", type=look_duration, default=10.0, help="how long to look (default 10s)"
    )
    parser.add_argument(
        "--baseline",
        type=duration,
        default=30.0,
        metavar="D",
        help="record this long before the first step, for `verify`, where no recorder does (default 30s)",
    )
    add_root(parser, "another root: a mounted image, a container's /host")
    parser.add_argument(
        "--config", type=Path, help="a TOML file with thresholds (default /etc/necroscope/config.toml)"
    )
    add_store(parser, needed=False)


def run(arguments: argparse.Namespace) -> Answer:
    """Plan, or do what was asked for."""
    _refuse_contradictions(arguments)
    arguments.root = one_name(arguments.root)
    host = host_to_change(arguments.root)
    if arguments.list:
        return _list(arguments, host)
    if arguments.undo is not None:
        return _undo(arguments, host)
    if arguments.continue_ is not None:
        return _go_on(arguments, host)
    refuse_existing(arguments)
    plan, not_checked = (read_plan(arguments.plan), ()) if arguments.plan else _new_plan(arguments, host)
    if arguments.output:
        write_output(arguments.output, plan_text(plan).encode(), force=arguments.force)
    if arguments.apply and (plan.steps or plan.by_hand):
        return _apply_plan(arguments, host, plan, not_checked)
    return _show(arguments, host, plan, not_checked)


def _refuse_contradictions(arguments: argparse.Namespace) -> None:
    modes = [mode for mode, name in MODES.items() if getattr(arguments, name) not in (None, False)]
    if arguments.what == "":
        raise UsageError("WHAT is empty", hint="necroscope fix --help")
    if arguments.what:
        modes.append(f"'{arguments.what}'")
    if len(modes) > 1:
        raise UsageError(
            f"{modes[0]} and {modes[1]} ask for two different things", hint="necroscope fix --help"
        )
    if arguments.output and modes and modes[0] in WITHOUT_PLAN:
        raise UsageError(f"-o writes a plan, and {modes[0]} makes none")
    if arguments.apply and (not modes or modes[0] in WITHOUT_PLAN):
        hint = "necroscope fix -o plan.json, read it, then necroscope fix --plan plan.json --apply"
        raise UsageError("--apply needs WHAT or --plan FILE", hint=hint)


def _new_plan(arguments: argparse.Namespace, host: Host) -> tuple[Plan, tuple[NotChecked, ...]]:
    """A plan for what a look finds, and what the look could not see."""
    from necroscope.cli.fix_choice import choose  # the whole of doctor, which --list and --undo do without

    if arguments.apply:
        refuse_early(_site_of(arguments, host), arguments.what)
    choice = choose(arguments, host)
    return make_plan(host, choice.treatments, choice.reasons, choice.goals), choice.not_checked


def _show(
    arguments: argparse.Namespace, host: Host, plan: Plan, not_checked: tuple[NotChecked, ...]
) -> Answer:
    older = older_fixes(arguments.store, host)
    shown = Shown(plan, not_checked, older, _expected(arguments, host, plan))
    body = {
        "plan": plan_document(plan),
        "verification": shown.expected,
        "not_checked": [asdict(row) for row in (*not_checked, *older.not_checked)],
        **older_document(older),
    }
    return Answer(0, body, lambda screen: "\n".join(plan_lines(screen, shown, arguments)))


def _expected(arguments: argparse.Namespace, host: Host, plan: Plan) -> tuple[str, ...]:
    """How the fix will be verified, and how long that takes."""
    if not plan.goals or not host.is_live:
        return ()
    from necroscope.remedies.verify.expect import expect

    return expect(plan, arguments.store, host)


def _list(arguments: argparse.Namespace, host: Host) -> Answer:
    if arguments.store is None:
        raise UsageError("there is no store to list", hint="--store names one")
    found = read_fixes(arguments.store)
    older = OlderFixes.of(found, host, holder_of(arguments.store))
    body = {"fixes": [fix_document(fix) for fix in found.fixes], **older_document(older)}
    return Answer(0, body, lambda screen: "\n".join(list_lines(screen, found, older, arguments.store)))


def _apply_plan(
    arguments: argparse.Namespace, host: Host, plan: Plan, not_checked: Sequence[NotChecked]
) -> Answer:
    """Carry out a plan, after it was measured how things are without it.

    `not_checked` is what the look could not see on which the plan rests.
    """
    site = _site_of(arguments, host)

    def measure() -> None:
        from necroscope.cli.measuring import record_baseline

        try:
            record_baseline(host, site.store, arguments.baseline, progress_bar)
        except KeyboardInterrupt:
            _say("interrupted before the first step: nothing was changed")
            raise

    prepare = measure if arguments.baseline and host.is_live else None
    with _undisturbed():
        is_new = arguments.plan is None
        fix = apply(plan, site, is_new=is_new, even_vital=arguments.even_vital, prepare=prepare)
    return _answer(fix, FixState.APPLIED, arguments, not_checked)


def _go_on(arguments: argparse.Namespace, host: Host) -> Answer:
    """Do what is left of a fix."""
    with _undisturbed():
        fix = continue_fix(arguments.continue_, _site_of(arguments, host), even_vital=arguments.even_vital)
    return _answer(fix, FixState.APPLIED, arguments)


def _undo(arguments: argparse.Namespace, host: Host) -> Answer:
    """Undo a fix."""
    with _undisturbed():
        fix = undo(arguments.undo, _site_of(arguments, host), force=arguments.force)
    return _answer(fix, FixState.UNDONE, arguments)


def _answer(
    fix: Fix, wanted: FixState, arguments: argparse.Namespace, not_checked: Sequence[NotChecked] = ()
) -> Answer:
    body = {
        "fix": fix_document(fix),
        "plan": plan_document(fix.plan),
        "not_checked": [asdict(row) for row in not_checked],
    }
    code = IN_PART if fix.state is FixState.UNDONE_IN_PART else 0 if fix.state is wanted else INTERRUPTED
    store = arguments.store
    return Answer(code, body, lambda screen: "\n".join(done_lines(screen, fix, store, not_checked)))


def _site_of(arguments: argparse.Namespace, host: Host) -> Site:
    """Where a fix happens. Raises StoreError where its record has no place."""
    if arguments.store is None:
        raise StoreError("there is no folder for the record of a fix", hint="--store names one")
    return Site(host, arguments.store, _say)


def _say(text: str) -> None:
    with suppress(OSError):  # the terminal may be gone, the fix goes on
        note(text)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """A lost connection must not end a fix in the middle; SIGTERM is like Ctrl-C, so that it is recorded."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    hang_up_before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    end_before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, hang_up_before)
        signal.signal(signal.SIGTERM, end_before)
