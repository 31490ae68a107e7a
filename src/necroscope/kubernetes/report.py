"""One report to the API server: the conditions of the node, and the events that wait.

All of it may be said twice. What could not be said is kept, bounded, and said by a later report.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from necroscope.errors import ClusterError, NecroscopeError, ReportRefusedError
from necroscope.kubernetes.access import Access
from necroscope.kubernetes.api_server import (
    STRATEGIC,
    ApiServer,
    NoAnswerError,
    Reply,
    ServerFailsError,
    ask_again,
    refusal,
)
from necroscope.kubernetes.cluster_events import (
    Subject,
    event_change,
    event_document,
    event_name,
    events_path,
    subjects_of,
)
from necroscope.kubernetes.condition import Condition
from necroscope.kubernetes.node_status import (
    conditions_patch,
    node_path,
    node_uid,
    removal_patch,
    standing_conditions,
    status_path,
)
from necroscope.kubernetes.report_payload import Handover
from necroscope.kubernetes.unsent_reports import KeptReports, Waiting, too_many
from necroscope.model.retry import Deadline
from necroscope.sources.host import Host
from necroscope.sources.ray_pods import NodePod, find_ray_pods


@dataclass(slots=True)
class Reported:
    """What became of a report."""

    conditions: int = 0  # set
    events: int = 0  # created or counted up
    waiting: int = 0  # events that are kept for later
    dropped: int = 0  # events given up: too many, too old, or about something that is gone
    error: NecroscopeError | None = None  # why not all was told
    problems: list[str] = field(default_factory=list)  # what cannot be kept or found here, or is not taken
    is_kept: bool = True  # whether what waits is on disk

    @property
    def result(self) -> str:
        """In a word, as the metric has it."""
        if self.error is None:
            return "ok"
        return "refused" if isinstance(self.error, ReportRefusedError | ClusterError) else "failed"


class Report:
    """One run, about one node."""

    def __init__(self, access: Access, node: str, kept: KeptReports, seconds: float) -> None:
        self._access = access
        self._node = node
        self._kept = kept
        self._deadline = Deadline(seconds)
        self._failing: set[str] = set()  # namespaces in which the API server fails, as far as this run knows
        self._refusing: set[str] = set()  # those that do not take our events
        self.reported = Reported()

    def tell(self, handover: Handover, host: Host, now_ns: int) -> Reported:
        """Tell all there is."""
        waiting = self._gather(handover, host, now_ns)
        try:
            with ApiServer(self._access) as server:
                document = self._read_node(server)
                self._tell_conditions(server, handover.conditions, document, now_ns)
                for one in waiting:
                    self._tell_series(server, one, node_uid(document))
        except NecroscopeError as error:
            self.reported.error = self.reported.error or error
        return self.reported

    def remove(self) -> int:
        """Take our conditions off the node; how many there were."""
        with ApiServer(self._access) as server:
            patch = removal_patch(standing_conditions(self._read_node(server)))
            rows: Sequence[Any] = patch["status"]["conditions"]
            if rows:
                self._ask(server, "PATCH", status_path(self._node), patch, "the conditions of the node")
            return len(rows)

    def read_node(self) -> Any:
        """The node as the API server has it."""
        with ApiServer(self._access) as server:
            return self._read_node(server)

    def _gather(self, handover: Handover, host: Host, now_ns: int) -> list[Waiting]:
        """Return what is new and what waits already; the pods are those of now, or of when it was new."""
        self._keep(self._kept.prepare)
        kept = self._kept.waiting()
        known = {one.series.id: one for one in kept}
        pods = self._pods(host) if any(one.tells_pods for one in handover.events) else ()
        for series in handover.events:
            before = known.get(series.id)
            known[series.id] = Waiting(series, _together(before.pods if before else (), pods))
        waiting = sorted(known.values(), key=lambda one: one.series.first_utc_ns)
        for one in too_many(waiting, now_ns):
            self._give_up(one)
            waiting.remove(one)
        if handover.conditions:
            self._keep(lambda: self._kept.keep_last(handover))
        for one in waiting:
            if one not in kept:  # all of them again would be a hundred writes to wait for
                self._keep(partial(self._kept.put, one))
        self.reported.waiting = len(waiting)
        return waiting

    def _keep(self, write: Callable[[], object]) -> None:
        """Write to the disk; if it takes nothing, try no more."""
        if self.reported.is_kept:
            try:
                write()
            except OSError as error:
                self.reported.problems.append(f"what waits cannot be kept: {error.strerror}")
                self.reported.is_kept = False

    def _pods(self, host: Host) -> tuple[NodePod, ...]:
        found = find_ray_pods(host)
        if found.value is None:
            self.reported.problems.append(f"Ray pods are not told: {found.reason}")
        return tuple(found.value or ())

    def _read_node(self, server: ApiServer) -> Any:
        return self._ask(server, "GET", node_path(self._node), None, f"node {self._node}").document

    def _tell_conditions(
        self, server: ApiServer, conditions: Sequence[Condition], node: Any, now_ns: int
    ) -> None:
        if conditions:
            patch = conditions_patch(conditions, standing_conditions(node), now_ns)
            try:
                self._ask(server, "PATCH", status_path(self._node), patch, "the conditions of the node")
                self.reported.conditions = len(conditions)
            except ReportRefusedError as error:  # events have rights of their own
                self.reported.error = error

    def _tell_series(self, server: ApiServer, waiting: Waiting, uid: str) -> None:
        is_told = is_put_off = False
        for subject in subjects_of(self._node, uid, waiting.series, waiting.pods):
            reply = self._tell_unless_failing(server, subject, waiting)
            if reply is None:
                is_put_off = True
            elif reply.is_ok:
                self.reported.events += 1
                is_told = True
            elif _is_pointless(reply):
                continue
            elif _is_its_namespaces(subject, reply):
                if subject.namespace not in self._refusing:
                    self._refusing.add(subject.namespace)
                    self.reported.problems.append(f"{_named(subject)} is not taken: {reply.said}")
            else:
                raise self._refusal(reply, _named(subject))
        if is_put_off:
            return
        self.reported.waiting -= 1
        if is_told:
            with suppress(OSError):
                self._kept.remove(waiting)
        else:
            self._give_up(waiting)

    def _tell_unless_failing(self, server: ApiServer, subject: Subject, waiting: Waiting) -> Reply | None:
        """The answer; None: in the namespace of this pod it has to wait.

        A webhook there may be down for long, and must not hold up the events of others.
        """
        if subject.namespace in self._failing:
            return None
        try:
            return self._tell_event(server, subject, waiting)
        except (ServerFailsError, NoAnswerError) as error:
            if subject.kind != "Pod" or self._deadline.left <= 0:
                raise
            self._failing.add(subject.namespace)
            self.reported.problems.append(f"{_named(subject)} waits: {error.what}")
            return None

    def _tell_event(self, server: ApiServer, subject: Subject, waiting: Waiting) -> Reply:
        """Create it, or count it up where it is there: the likelier of both first."""
        name = event_name(subject, waiting.series)
        document = event_document(self._node, subject, waiting.series)

        def create() -> Reply:
            return server.ask("POST", events_path(subject), document)

        def change() -> Reply:
            return server.ask("PATCH", events_path(subject, name), event_change(waiting.series), STRATEGIC)

        first, second = (create, change) if waiting.series.count == 1 else (change, create)
        reply = ask_again(first, self._deadline)
        return ask_again(second, self._deadline) if reply.status in (404, 409) else reply

    def _ask(self, server: ApiServer, method: str, path: str, body: Any, what: str) -> Reply:
        reply = ask_again(lambda: server.ask(method, path, body, STRATEGIC), self._deadline)
        if not reply.is_ok:
            raise self._refusal(reply, what)
        return reply

    def _refusal(self, reply: Reply, what: str) -> ReportRefusedError:
        return refusal(reply, what, self._access.token_file, self._node)

    def _give_up(self, waiting: Waiting) -> None:
        self.reported.dropped += 1
        with suppress(OSError):
            self._kept.remove(waiting)


def _together(before: Sequence[NodePod], now: Sequence[NodePod]) -> tuple[NodePod, ...]:
    return tuple(dict.fromkeys((*before, *now)))


def _named(subject: Subject) -> str:
    place = f"{subject.namespace}/" if subject.namespace else ""
    return f"an event on {subject.kind} {place}{subject.name}"


def _is_pointless(reply: Reply) -> bool:
    """Whether an Event can never be told: its pod or its namespace is gone, or it is no Event at all."""
    is_ending = reply.status == 403 and "being terminated" in reply.said
    is_invalid = reply.status == 422 and not reply.is_by_policy
    return reply.status == 404 or is_ending or is_invalid


def _is_its_namespaces(subject: Subject, reply: Reply) -> bool:
    """Whether only the namespace of a pod does not take it, by a quota or a policy: nobody waits for that."""
    return subject.kind == "Pod" and reply.status in (403, 422)
