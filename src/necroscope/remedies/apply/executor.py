"""Carry out one step or take one back: on record before it begins, checked when it has ended.

Only here are actions run. Whatever one of them raises is recorded, and becomes a ChangeError.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from necroscope.errors import ChangeError, NecroscopeError, StoreError
from necroscope.model.fix import Fix, Progress, State, StepState
from necroscope.model.plan import Step
from necroscope.remedies.actions.action import Action
from necroscope.remedies.actions.catalog import ALL_ACTIONS
from necroscope.remedies.actions.stop_unit import STOP_UNIT
from necroscope.remedies.apply.audit_log import LogLine, add_to_log
from necroscope.remedies.apply.fixes_folder import opened_fixes
from necroscope.remedies.apply.journal import Entry, Happening, Journal, opened_journal, with_entry
from necroscope.remedies.apply.lock import forget_begun, note_begun
from necroscope.remedies.apply.recovery_hints import ways_out
from necroscope.remedies.apply.refusals import LEFT, why_foreign
from necroscope.remedies.apply.site import Site
from necroscope.sources.host import Host

SETTLE_SECONDS = 5.0  # of what an action does not itself wait for
PAUSE_SECONDS = 0.1


class StepFailedError(ChangeError):
    """What went wrong with a step, and is on record."""


class Transaction:
    """A fix that is being carried out or taken back, and its record."""

    def __init__(self, fix: Fix, site: Site, journal: Journal) -> None:
        self.fix = fix
        self._site = site
        self._journal = journal

    def note(self, kind: Happening, step: int = 0, outcome: str = "", before: tuple[State, ...] = ()) -> None:
        """Put on record what happens. Raises ChangeError where that cannot be written."""
        entry = Entry(kind, time.time_ns(), str(self._site.who), step, outcome, before)
        try:
            self._journal.add(entry)
            self.fix = with_entry(self.fix, entry)
            add_to_log(self._site.store, self._site.who, entry.at_ns, _log_line(self.fix, entry))
        except (OSError, StoreError) as error:
            place = f"at step {step}" if step else "between two steps"
            what = f"stopped {place}, which cannot be recorded: {sentence_of(error)}"
            raise ChangeError(what, hint=self._ways_out()) from error

    def look_again(self, number: int) -> None:
        """Put on record what a step will change that has not been recorded: time has passed since."""
        step, progress = self.fix.plan.steps[number - 1], self.fix.progress[number - 1]
        with self._failing(number, Happening.STEP_FAILED, "failed"):
            before = _state_to_go_on_from(self._site.host, step, progress)
            if why := why_foreign(self.fix.plan.treatments, [step], [before], self._site.host):
                raise ChangeError(f"an undo would not restore what is there now: {why}")
        if before != progress.before:
            self.note(Happening.STEP_LOOKED, number, before=(dict(before),))

    def do(self, number: int) -> None:
        """Carry out a step, counted from 1."""
        step = self._announce(number)
        self.note(Happening.STEP_BEGUN, number)
        with self._failing(number, Happening.STEP_FAILED, "failed"):
            outcome = _do(action_of(step), self._site.host, step)
        self.note(Happening.STEP_DONE, number, outcome)

    def check(self, number: int) -> None:
        """Fail where a step that was done has lost its effect meanwhile."""
        step = self.fix.plan.steps[number - 1]
        with self._failing(number, Happening.STEP_FAILED, "did not last"):
            if why := _still_wrong(lambda: action_of(step).check(self._site.host, step)):
                raise ChangeError(why)

    def undo(self, number: int, *, force: bool = False) -> str:
        """Take back a step; with `force` also where somebody has changed it since. Why it could not be."""
        step = self._announce(number, "take back ")
        action, host, progress = action_of(step), self._site.host, self.fix.progress[number - 1]
        self.note(Happening.STEP_UNDOING, number)
        try:
            with self._failing(number, Happening.STEP_NOT_UNDONE, "could not be taken back"):
                if force and progress.state in (StepState.DONE, StepState.UNDOING):
                    _overwrite_if_changed(action, host, step, progress.before)
                _undo(action, host, step, progress.before)
        except StepFailedError as error:
            return error.what
        self.note(Happening.STEP_UNDONE, number)
        return ""

    def _announce(self, number: int, verb: str = "") -> Step:
        step = self.fix.plan.steps[number - 1]
        self._site.say(f"step {number} of {len(self.fix.plan.steps)}: {verb}{step.action} {step.target}")
        return step

    @contextmanager
    def _failing(self, number: int, kind: Happening, how: str) -> Iterator[None]:
        """Record what goes wrong inside. Ctrl-C is no failure: it leaves the step as it is."""
        try:
            yield
        except Exception as error:  # the one runner of actions, which records it
            why = sentence_of(error)
            self.note(kind, number, why)
            target = self.fix.plan.steps[number - 1].target
            what = f"step {number} ({target}) {how}: {why}"
            raise StepFailedError(what, hint=self._ways_out()) from error

    def _ways_out(self) -> str:
        return ways_out(self.fix, self._site.store)


@contextmanager
def transaction(fix: Fix, site: Site) -> Iterator[Transaction]:
    """A fix of the store whose record can be written on; the machine knows of it until it has ended."""
    with ExitStack() as stack:
        fixes = stack.enter_context(opened_fixes(site.store))
        journal = stack.enter_context(opened_journal(stack.enter_context(fixes.inside(fix.id))))
        work = Transaction(fix, site, journal)
        try:
            note_begun(site.host, fix.id, site.store)
        except OSError as error:
            what = f"the machine cannot be told of {fix.id}: {sentence_of(error)}"
            raise StoreError(what, hint=ways_out(fix, site.store)) from error
        try:
            yield work
        finally:
            if work.fix.state not in LEFT:
                forget_begun(site.host)


def action_of(step: Step) -> Action:
    """What carries out a step."""
    return ALL_ACTIONS[step.action]


def sentence_of(error: Exception) -> str:
    """Return a sentence for people about an error of an action."""
    if isinstance(error, NecroscopeError):
        return error.what
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return f"internal error: {type(error).__name__}: {error}"


def _do(action: Action, host: Host, step: Step) -> str:
    outcome = action.do(host, step)
    if why := _still_wrong(lambda: action.check(host, step)):
        raise ChangeError(why)
    return outcome


def _overwrite_if_changed(action: Action, host: Host, step: Step, before: State) -> None:
    """Overwrite what somebody changed since: an action takes back its own change only."""
    if action.check(host, step) and action.check_undone(host, step, before):
        action.do(host, step)


def _undo(action: Action, host: Host, step: Step, before: State) -> None:
    action.undo(host, step, before)
    if why := _still_wrong(lambda: action.check_undone(host, step, before)):
        raise ChangeError(why)


def _still_wrong(check: Callable[[], str]) -> str:
    """Return what a check still finds after a bounded time."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while (why := check()) and time.monotonic() < deadline:
        time.sleep(PAUSE_SECONDS)
    return why


def _state_to_go_on_from(host: Host, step: Step, progress: Progress) -> State:
    """Return what an undo of the step has to restore.

    Of a step that has not begun, all as it is now. Of one that has, what is there now may be its own doing,
    and what was recorded counts; but of the units that a stop takes along, some may have come since.
    """
    if step.action == STOP_UNIT.id:
        return {**STOP_UNIT.look(host, step), **progress.before}
    if progress.state is StepState.WAITING:
        return action_of(step).look(host, step)
    return progress.before


def _log_line(fix: Fix, entry: Entry) -> LogLine:
    words = tuple(map(str, fix.plan.treatments))
    if not entry.step:
        return LogLine(entry.kind.value, fix.id, fix.plan.host, words, outcome=entry.outcome)
    step = fix.plan.steps[entry.step - 1]
    return LogLine(
        what=entry.kind.value,
        fix=fix.id,
        host=fix.plan.host,
        treatments=words,
        step=entry.step,
        action=step.action,
        target=step.target,
        command=step.command,
        before=fix.progress[entry.step - 1].before,
        after=step.value,
        outcome=entry.outcome,
    )
