"""What a line of the kernel log says about a NIC, who wrote it, and whether the counters bear it out.

A program may have written the line, if programs were trusted when it was read: then it is what somebody says,
and no proof that a queue stalled. Lines of programs that nobody trusts are no events, and do not get here.
"""

from __future__ import annotations

from collections.abc import Iterator

from necroscope.diagnosis.facts.fact import Fact
from necroscope.diagnosis.facts.queue_use import queue_used
from necroscope.diagnosis.facts.starvation import Starvation
from necroscope.diagnosis.scene import Scene
from necroscope.diagnosis.symptom import Symptom, lines_of_stall
from necroscope.model.event import Event
from necroscope.model.finding import Evidence
from necroscope.signals.reset_reason import napi_waited, stated_cause

LOG = "kernel log"


def line_facts(scene: Scene, symptom: Symptom, found: Starvation) -> dict[str, Fact]:
    """What it says, and what speaks against it."""
    event = symptom.event
    rule = f"{event.rule} (written by a program)" if event.from_user_space else event.rule
    line = Evidence(rule, event.text, "line", LOG)
    cause = stated_cause(event)
    return {
        "nic-stalled": Fact(event.kind == "nic-reset", (line, *_others(scene, symptom))),
        "line-is-kernels": Fact(not (event.from_user_space or event.device_driver), tuple(_foreign(event))),
        "queue-used": queue_used(scene, symptom, found.queue),
        "napi-scheduled": Fact(
            _scheduled(scene, symptom), (line,), "whether NAPI was waiting: this driver does not say"
        ),
        "napi-denied": Fact(event.napi_scheduled is False, (line,)),
        **{f"line-says-{what}": Fact(cause == what, (line,)) for what in ("device", "network", "planned")},
    }


def _scheduled(scene: Scene, symptom: Symptom) -> bool | None:
    """Whether the line says that NAPI had been waiting for long."""
    waited = napi_waited(symptom.event, scene.limit("nic-reset.starved_seconds"))
    return False if waited is None and symptom.kind != "nic-reset" else waited


def _others(scene: Scene, symptom: Symptom) -> Iterator[Evidence]:
    """How many lines are about the same stall, of which this one is explained."""
    number = lines_of_stall(scene.events, symptom.event, scene.thresholds)
    if number > 1:
        yield Evidence("lines about this stall, of which this tells most", number, "lines", LOG)


def _foreign(event: Event) -> Iterator[Evidence]:
    """Against a line: the device has another driver."""
    if event.device_driver:
        name = f"against it: the driver of {event.device or event.bus}"
        value = f"{event.device_driver}, and the line is one of {event.driver}"
        yield Evidence(name, value, "", "/sys/class/net")
