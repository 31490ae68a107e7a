"""The part of `fix` that changes something: apply, go on, take back; and what signals do meanwhile."""

from __future__ import annotations

import argparse
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict

from necroscope.cli.answer import Answer
from necroscope.cli.fix_document import fix_document
from necroscope.cli.fix_text import done_lines
from necroscope.cli.screen import note, progress_bar
from necroscope.errors import StoreError
from necroscope.model.examination import NotChecked
from necroscope.model.fix import Fix, FixState
from necroscope.model.plan import Plan
from necroscope.remedies.apply.apply import apply, continue_fix
from necroscope.remedies.apply.site import Site
from necroscope.remedies.apply.undo import undo
from necroscope.remedies.plan.plan_document import plan_document
from necroscope.sources.host import Host

IN_PART = 2  # as where a step failed
INTERRUPTED = 130


def apply_plan(
    arguments: argparse.Namespace, host: Host, plan: Plan, not_checked: Sequence[NotChecked]
) -> Answer:
    """Carry out a plan, after it was measured how things are without it.

    `not_checked` is what the look could not see on which the plan rests.
    """
    site = site_of(arguments, host)

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


def go_on(arguments: argparse.Namespace, host: Host) -> Answer:
    """Do what is left of a fix."""
    with _undisturbed():
        fix = continue_fix(arguments.continue_, site_of(arguments, host), even_vital=arguments.even_vital)
    return _answer(fix, FixState.APPLIED, arguments)


def take_back(arguments: argparse.Namespace, host: Host) -> Answer:
    """Undo a fix."""
    with _undisturbed():
        fix = undo(arguments.undo, site_of(arguments, host), force=arguments.force)
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


def site_of(arguments: argparse.Namespace, host: Host) -> Site:
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
