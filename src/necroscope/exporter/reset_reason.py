"""Why a network device was reset, as far as the kernel's lines say."""

from __future__ import annotations

from functools import cache

from necroscope.model.event import Event
from necroscope.signals.kernel_log_events import kernel_log_rules

# The strongest first: what a line states outranks what no line denies.
REASONS = {
    "starvation": "the core did not run the queue's NAPI",
    "device": "the line blames the device, its firmware or the network",
    "planned": "the reset was asked for",
    "watchdog": "a queue stood still, and no line says why",
}


def reset_reason(event: Event, starved_seconds: float) -> str:
    """What the line behind a nic-reset event gives as its reason, one of REASONS."""
    starved, cause = _rules().get(event.rule, (False, ""))
    # Scheduled is not enough: NAPI must have waited for nearly as long as the driver does.
    waited = bool(event.napi_scheduled) and (event.stall_seconds or 0.0) >= starved_seconds
    if starved or waited:
        return "starvation"
    return {"device": "device", "network": "device", "planned": "planned"}.get(cause, "watchdog")


def stronger(one: str, other: str) -> str:
    """The one of two reasons that says more."""
    return min(one, other, key=list(REASONS).index)


@cache
def _rules() -> dict[str, tuple[bool, str]]:
    return {rule.id: (rule.starved, rule.cause) for rule in kernel_log_rules()}
