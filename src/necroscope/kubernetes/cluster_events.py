"""Events of the cluster: one on the node, one on each Ray pod that was hit.

The name of an Event follows from its object and the first event of its series. So a series that goes on,
and one that is told twice after a restart, is counted up in the Event that is there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from necroscope.kubernetes.event_series import EventSeries
from necroscope.kubernetes.names import COMPONENT, FIELD_MANAGER
from necroscope.model.timestamp import iso_utc_seconds
from necroscope.sources.ray_pods import NodePod

LONGEST_MESSAGE = 1024
LONGEST_NAME = 253
NODE_NAMESPACE = "default"  # where the Events of things without a namespace are


@dataclass(frozen=True, slots=True)
class Subject:
    """What an Event is about."""

    kind: str
    name: str
    uid: str
    namespace: str = ""

    @property
    def event_namespace(self) -> str:
        """Where its Events are."""
        return self.namespace or NODE_NAMESPACE


def subjects_of(node: str, uid: str, series: EventSeries, pods: Sequence[NodePod]) -> list[Subject]:
    """The node, and the pods where the series concerns them."""
    hit = [Subject("Pod", pod.name, pod.uid, pod.namespace) for pod in pods if series.tells_pods]
    return [Subject("Node", node, uid), *hit]


def event_name(subject: Subject, series: EventSeries) -> str:
    """OBJECT.ID-OF-THE-FIRST-EVENT, in the letters that a name may have."""
    end = "." + re.sub(r"[^a-z0-9.-]", "-", series.id.lower())
    return subject.name[: LONGEST_NAME - len(end)].rstrip(".-") + end


def event_document(node: str, subject: Subject, series: EventSeries) -> dict[str, Any]:
    """The Event, as it is created."""
    about = {"apiVersion": "v1", "kind": subject.kind, "name": subject.name, "uid": subject.uid}
    if subject.namespace:
        about["namespace"] = subject.namespace
    metadata = {"name": event_name(subject, series), "namespace": subject.event_namespace}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": metadata,
        "involvedObject": about,
        "type": "Warning",
        "reason": series.reason,
        "source": {"component": COMPONENT, "host": node},
        "reportingComponent": COMPONENT,
        "reportingInstance": node,
        "firstTimestamp": iso_utc_seconds(series.first_utc_ns),
        **event_change(series),
    }


def event_change(series: EventSeries) -> dict[str, Any]:
    """What changes in an Event when its series goes on."""
    return {
        "message": series.message[:LONGEST_MESSAGE],
        "count": series.count,
        "lastTimestamp": iso_utc_seconds(series.last_utc_ns),
    }


def events_path(subject: Subject, name: str = "") -> str:
    """Where an Event is, or where it is posted."""
    where = f"/api/v1/namespaces/{quote(subject.event_namespace, safe='')}/events"
    query = f"fieldManager={FIELD_MANAGER}"
    return f"{where}/{quote(name, safe='')}?{query}" if name else f"{where}?{query}"
