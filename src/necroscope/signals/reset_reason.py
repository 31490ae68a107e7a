"""Why a network device was reset, as far as the kernel's lines say."""

from __future__ import annotations

from functools import cache

from necroscope.model.event import Event
from necroscope.signals.kernel_log_events import Rule, kernel_log_rules

# The strongest first: what a line states outranks what no line denies.
REASONS = {
    "starvation": "the core did not run the queue's NAPI",
    "device": "the line blames the device, its firmware or the network",
    "planned": "the reset was asked for",
    "watchdog": "a queue stood still, and no line says why",
}


def napi_waited(event: Event, starved_seconds: float) -> bool | None:
    """Return whether NAPI was scheduled and not run for so long; None if the line does not say.

    Scheduled is not enough: NAPI must have waited for nearly as long as the driver does.
    """
    if event.napi_scheduled is None:
        return None
    return event.napi_scheduled and (event.stall_seconds or 0.0) >= starved_seconds


def was_starved(event: Event, starved_seconds: float) -> bool:
    """Return whether the line says that the core did not run the queue's NAPI."""
    rule = _rules().get(event.rule)
    return bool(napi_waited(event, starved_seconds) or (rule and rule.starved))


def stated_cause(event: Event) -> str:
    """Return what the line blames: device, network or planned; empty if it does not say."""
    rule = _rules().get(event.rule)
    return rule.cause if rule else ""


def reset_reason(event: Event, starved_seconds: float) -> str:
    """Return what the line behind a nic-reset event gives as its reason, one of REASONS."""
    if was_starved(event, starved_seconds):
        return "starvation"
    cause = stated_cause(event)
    return {"device": "device", "network": "device", "planned": "planned"}.get(cause, "watchdog")


def stronger(one: str, other: str) -> str:
    """Return the one of two reasons that says more."""
    return min(one, other, key=list(REASONS).index)


@cache
def _rules() -> dict[str, Rule]:
    return {rule.id: rule for rule in kernel_log_rules()}
