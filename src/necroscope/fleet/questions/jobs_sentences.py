"""What `fleet jobs` says of each failed job, and of what limits the answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from necroscope.fleet.jobs.failure_patterns import Sign
from necroscope.fleet.questions.jobs_gathered import Recorded
from necroscope.fleet.questions.jobs_window import Look, Window, job_numbers
from necroscope.model.fleet.job import ENDED, Blame, ChanceCheck, Job, JobBlame
from necroscope.model.timestamp import SECOND_US

MOST_NAMES = 3
LEAST_EVENTS = 3


def blame_of(
    job: Job, look: Look | None, sign: Sign | None, chance: float | None, window: Window
) -> JobBlame:
    """What a failed job is put down to, and why."""
    event = look.event if look else None
    blame = _blame(look, sign)
    seconds = (job.end_us - event.time_us) / SECOND_US if event and job.end_us is not None else None
    return JobBlame(
        job=job,
        blame=blame,
        host=event.host if event else "",
        event=event.id if event else "",
        kind=event.kind if event else "",
        seconds_before=seconds,
        by_chance=chance,
        sign=sign.rule.id if sign else "",
        sentence=_sentence(job, blame, look, sign, window),
    )


def note_of(blames: Sequence[JobBlame], inside: Sequence[Job], check: ChanceCheck, recorded: Recorded) -> str:
    """What limits the answer; empty: nothing."""
    return " ".join(filter(None, _notes(blames, inside, check, recorded)))


def is_chance_too_low(check: ChanceCheck) -> bool:
    """Whether jobs that succeeded had so many events that chance is more than was computed."""
    return check.with_event >= LEAST_EVENTS and check.expected > 0 and check.p <= job_numbers()["raised"]


def _notes(
    blames: Sequence[JobBlame], inside: Sequence[Job], check: ChanceCheck, recorded: Recorded
) -> Iterable[str]:
    unchecked = sum(one.blame == Blame.NOT_CHECKED for one in blames)
    if unchecked:
        yield f"{unchecked} failed {_jobs(unchecked)} could not be checked."
    unknown = {node for job in inside for node in job.unknown_nodes}
    if unknown:
        shown = _names(sorted(unknown))
        yield f"Nodes of which no host is known: {shown}; --hosts-file or --kubernetes may tell."
    if drivers := sum(job.status == ENDED for job in inside):
        yield f"How {drivers} {_jobs(drivers)} ended is not known: not submitted through the Jobs API."
    if is_chance_too_low(check):
        yield (
            f"{check.with_event} of {check.jobs} jobs that succeeded had an event in their window, too, and"
            f" {check.expected:.1f} by chance: chance was raised by as much."
        )
    hosts = {host for one in blames for host in one.job.hosts} & recorded.unsynchronised
    if hosts:
        yield f"The clock of {_names(sorted(hosts))} was not synchronised: times may be off."


def _blame(look: Look | None, sign: Sign | None) -> Blame:
    if look is None or not look.recorded:
        # It need not be recorded to be its own fault.
        return Blame.OWN if sign and sign.is_own else Blame.NOT_CHECKED
    if sign and sign.is_own:
        return Blame.OWN
    return Blame.NODE if look.event else Blame.UNKNOWN


def _sentence(job: Job, blame: Blame, look: Look | None, sign: Sign | None, window: Window) -> str:
    event = look.event if look else None
    near = f"{event.kind} on {event.host} {_when(job, event.time_us)}" if event else ""
    said = f": {sign.line}" if sign else ""
    if blame == Blame.NODE:
        words = said if sign else "; it said nothing of why"
        return f"{near}{words}"
    if blame == Blame.OWN:
        return f"by itself{said}" + (f" ({near} is put down to chance)" if near else "")
    if blame == Blame.NOT_CHECKED or look is None:
        return _why_not_checked(job)
    span = (
        f"from {window.before_us / SECOND_US:g} s before to {window.after_us / SECOND_US:g} s after its end"
    )
    return f"no event on {_hosts(look)} {span}{said}"


def _why_not_checked(job: Job) -> str:
    if job.end_us is None:
        return "when it ended is not known"
    if job.hosts:
        verb = "was" if len(job.hosts) == 1 else "were"
        return f"{_names(job.hosts)} {verb} not recorded then"
    if job.unknown_nodes:
        return f"no host is known for {_names(job.unknown_nodes)}"
    return "where it ran is not known"


def _hosts(look: Look) -> str:
    """The hosts that were looked at, and how many were not."""
    others = len(look.job.hosts) - len(look.recorded) + len(look.job.unknown_nodes)
    return _names(look.recorded) + (f" ({others} more not known or not recorded)" if others else "")


def _when(job: Job, time_us: int) -> str:
    seconds = ((job.end_us or 0) - time_us) / SECOND_US
    return f"{abs(seconds):.1f} s {'before' if seconds >= 0 else 'after'} its end"


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(names[:MOST_NAMES])
    return f"{shown} and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else shown


def _jobs(count: int) -> str:
    return "job" if count == 1 else "jobs"
