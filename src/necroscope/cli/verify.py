"""Did it help: the same quantities before and after a fix, with a verdict.

necroscope verify                          the newest fix of this host
necroscope verify --at 14:00               a change that was made by hand
necroscope verify --window 2h --before 1d

It waits until the window after the change is recorded, and records it where no recorder runs. It can be left
with Ctrl-C and asked again. What it says of a fix is kept beside it, for the report. Exit codes: 0 better,
4 unchanged or worse, 3 inconclusive.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from necroscope.cli.answer import INTERRUPTED, Answer, note_damaged
from necroscope.cli.arguments import add_root, add_store, duration
from necroscope.cli.comparison_text import numbers_text, ratio_text, why_text
from necroscope.cli.measuring import Wanted, have_recorded
from necroscope.cli.screen import Screen, note, progress_bar
from necroscope.cli.times import moment
from necroscope.errors import NothingRecordedError, UsageError
from necroscope.model.amounts import time_text
from necroscope.model.fix import Fix
from necroscope.model.kept_verdict import KeptVerdict
from necroscope.model.time_range import TimeRange
from necroscope.model.timestamp import iso_utc
from necroscope.model.verdict import Comparison, Verdict, Verification
from necroscope.remedies.apply.fixes import find_fix, keep_verdict, read_fixes
from necroscope.remedies.apply.recovery_hints import our_command
from necroscope.remedies.verify.change import Change, after_window, change_at, change_of, newest_applied
from necroscope.remedies.verify.expect import expect_goals
from necroscope.remedies.verify.observe import Recording
from necroscope.remedies.verify.verify_change import Asked, verify_change
from necroscope.remedies.verify.windows import recorded_seconds
from necroscope.signals.thresholds import load_thresholds
from necroscope.sources.host import Host
from necroscope.store.store import Store, StoredSegment
from necroscope.store.store_place import host_name

EXIT_CODES = {Verdict.BETTER: 0, Verdict.UNCHANGED: 4, Verdict.WORSE: 4, Verdict.INCONCLUSIVE: 3}
SHORTEST_WINDOW = 1.0
STYLES = {
    Verdict.BETTER: "good",
    Verdict.UNCHANGED: "warning",
    Verdict.WORSE: "critical",
    Verdict.INCONCLUSIVE: "info",
}


@dataclass(frozen=True, slots=True)
class Subject:
    """Which change of which host is judged."""

    host: str
    change: Change
    segments: list[StoredSegment]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `verify` understands."""
    parser.add_argument("fix", nargs="?", metavar="FIX_ID", help="which fix (default: the newest applied)")
    parser.add_argument(
        "--window", type=_window, default=600.0, metavar="D", help="how much time after it (default 10m)"
    )
    parser.add_argument(
        "--before",
        type=_window,
        metavar="D",
        help="how much before it (default: as much as after, 10m at least, and 14 days of what is rare)",
    )
    parser.add_argument("--at", type=moment, metavar="T", help="a change that was made by hand at this time")
    parser.add_argument("--now", action="store_true", help="do not wait: judge by what is recorded")
    parser.add_argument("--host", help="a fix of this host (default: this one)")
    add_root(parser, "the host's root: /host in a container")
    parser.add_argument("--config", type=Path, help="a TOML file with thresholds")
    add_store(parser)


def run(arguments: argparse.Namespace) -> Answer:
    """Find the change, wait for the time after it, compare."""
    if arguments.fix and arguments.at:
        raise UsageError("FIX_ID and --at say two different things")
    thresholds = load_thresholds(arguments.config)
    store, host = Store(arguments.store), Host(arguments.root)
    subject = _subject(arguments, store, host, time.time_ns())
    asked = Asked(arguments.window, arguments.before)
    _require_before(subject, asked)
    waited = True
    if _is_to_wait(arguments, subject, host):
        _announce(subject, Recording(subject.segments, thresholds, []), asked)
        wanted = Wanted(after_window(subject.change).begin_ns, asked.window_seconds)
        waited = have_recorded(host, arguments.store, wanted, progress_bar)
        subject = _subject(arguments, store, host, time.time_ns())
    recording = Recording(subject.segments, thresholds, [*store.damaged])
    verification = verify_change(recording, subject.change, asked)
    is_kept = waited and _keep(arguments.store, asked, verification)
    missing = 0.0 if waited else max(asked.window_seconds - verification.after_seconds, 0.0)
    body = {
        **_document(verification, subject.host, asked),
        "interrupted": not waited,
        "kept": is_kept,
        "missing_seconds": round(missing, 3),
        "damaged": note_damaged(recording.damaged),
    }
    code = EXIT_CODES[verification.verdict] if waited else INTERRUPTED
    again = _again(arguments, verification)
    return Answer(
        code,
        body,
        lambda screen: "\n".join(verification_lines(screen, subject.host, verification, missing, again)),
    )


def _subject(arguments: argparse.Namespace, store: Store, host: Host, now_ns: int) -> Subject:
    stored = [segment for segment in store.segments() if segment.boot_id]
    if arguments.at:
        name = arguments.host or _recorded_host(stored, host_name(host))
        own = [segment for segment in stored if segment.host == name]
        at_ns = arguments.at.utc_ns(own)
        if at_ns > now_ns:
            raise UsageError("--at is in the future", hint="10m, 14:00 or 2026-04-15T10:02:11Z")
        change = change_at(at_ns, name, read_fixes(arguments.store).fixes, now_ns)
    else:
        known = read_fixes(arguments.store).fixes
        fix = _fix(arguments, known, arguments.host or host_name(host))
        name, change = fix.plan.host, change_of(fix, known, now_ns)
        own = [segment for segment in stored if segment.host == name]
    return Subject(name, change, own)


def _require_before(subject: Subject, asked: Asked) -> None:
    """Nothing is waited for where there is nothing to compare it with."""
    begun_ns = subject.change.begun_ns
    seconds = asked.seconds_before(is_rare=True)
    if not recorded_seconds(subject.segments, TimeRange(begun_ns - int(seconds * 1e9), begun_ns)):
        what = f"nothing of {subject.host} was recorded in the {time_text(seconds)} before the change"
        raise NothingRecordedError(what, hint="a recorder must run before: necroscope record, fix --baseline")


def _fix(arguments: argparse.Namespace, known: Sequence[Fix], host: str) -> Fix:
    if arguments.fix:
        return find_fix(arguments.store, arguments.fix)
    fix = newest_applied(known, host)
    if fix is None:
        hint = "necroscope fix plans one; --at T takes a change that was made by hand"
        raise UsageError(f"{arguments.store} knows no fix of {host} that was applied", hint=hint)
    return fix


def _recorded_host(stored: Sequence[StoredSegment], here: str) -> str:
    """This host where it is recorded, else the one that was recorded last."""
    hosts = {segment.host for segment in stored}
    return here if here in hosts or not hosts else max(stored, key=lambda s: s.end_ns).host


def _is_to_wait(arguments: argparse.Namespace, subject: Subject, host: Host) -> bool:
    """Only the present of this host can be waited for."""
    window = after_window(subject.change)
    if arguments.now or subject.change.ended_by or not host.is_live or subject.host != host_name(host):
        return False
    return recorded_seconds(subject.segments, window) < float(arguments.window) - 1


def _announce(subject: Subject, recording: Recording, asked: Asked) -> None:
    """Say what is waited for, and how long that will take for what is rare."""
    change = subject.change
    lines = expect_goals(change.goals, recording, change.begun_ns, asked.seconds_before(is_rare=False))
    missing = asked.window_seconds - recorded_seconds(subject.segments, after_window(change))
    with suppress(OSError):
        for line in lines:
            note(f"before: {line}")
        note(f"waiting for {missing:.0f} s of the time after; Ctrl-C leaves, and it can be asked again")


def _keep(store: Path, asked: Asked, verification: Verification) -> bool:
    """Put the verdict beside its fix, so that a report says the same; whether that could be done."""
    if not verification.fix:
        return False
    kept = KeptVerdict(time.time_ns(), asked.window_seconds, asked.before_seconds, verification)
    try:
        keep_verdict(store, kept)
    except OSError as error:
        with suppress(OSError):
            note(f"the verdict is not kept for the report: {error.strerror}")
        return False
    return True


def _again(arguments: argparse.Namespace, verification: Verification) -> str:
    """The command that will tell more, where there is one."""
    if verification.needed_seconds is None:
        return ""
    options = ["--at", iso_utc(verification.changed_ns)] if arguments.at else []
    options += ["--window", f"{verification.needed_seconds + 1:.0f}s"]
    fix = [arguments.fix] if arguments.fix else []
    return our_command("verify", fix, options, arguments.root, arguments.store)


def _document(verification: Verification, host: str, asked: Asked) -> dict[str, Any]:
    return {
        "fix": verification.fix or None,
        "host": host,
        "changed": iso_utc(verification.changed_ns),
        "verdict": verification.verdict,
        "summary": verification.summary,
        "window_seconds": asked.window_seconds,
        "before_seconds": round(verification.before_seconds, 3),
        "after_seconds": round(verification.after_seconds, 3),
        "needed_seconds": verification.needed_seconds,
        "quantities": verification.comparisons,
    }


def _window(text: str) -> float:
    seconds = duration(text)
    if seconds < SHORTEST_WINDOW:
        raise argparse.ArgumentTypeError(f"'{text}' is less than a second")
    return seconds


def verification_lines(
    screen: Screen, host: str, verification: Verification, missing_seconds: float, again: str
) -> Iterator[str]:
    """The verdict, then the goals, then all else that was measured."""
    yield screen.paint(f"{host}: {verification.verdict.value}", STYLES[verification.verdict])
    yield screen.wrap(verification.summary, 2)
    what = verification.fix or "the change"
    yield screen.wrap(
        f"{time_text(verification.before_seconds)} before {what} and"
        f" {time_text(verification.after_seconds)} after it, which ended at"
        f" {iso_utc(verification.changed_ns)}",
        2,
    )
    goals = [one for one in verification.comparisons if one.is_goal]
    others = [one for one in verification.comparisons if not one.is_goal]
    for comparison in goals:
        yield ""
        yield from _goal_lines(screen, comparison)
    table = screen.table((one.name, _short(one)) for one in others)
    yield from screen.section("Other quantities" if goals else "Quantities", [table])
    if missing_seconds:
        yield ""
        yield screen.wrap(f"Interrupted: asked again it needs {time_text(missing_seconds)} more.")
    elif again:
        yield ""
        yield screen.wrap(f"To know more: {again}", hanging=14)


def _goal_lines(screen: Screen, comparison: Comparison) -> Iterator[str]:
    head = f"{comparison.name}: {comparison.verdict.value}"
    yield screen.paint(screen.wrap(head), STYLES[comparison.verdict])
    for line in (numbers_text(comparison), ratio_text(comparison), why_text(comparison)):
        if line:
            yield screen.wrap(line, 2)


def _short(comparison: Comparison) -> str:
    if comparison.before is None or comparison.after is None:
        return f"{numbers_text(comparison)}: {comparison.why}"
    return f"{comparison.verdict.value}: {numbers_text(comparison)}"
