"""Reporting to the cluster from the recorder: what is to be told, which command does it, how that goes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from necroscope.agent.reporter import Reporter
from necroscope.kubernetes.access import access_of, node_of
from necroscope.kubernetes.condition import Condition
from necroscope.kubernetes.conditions import conditions_of, conditions_unexamined, own_troubles
from necroscope.kubernetes.pending_events import PendingEvents
from necroscope.model.event import Event
from necroscope.model.node_state import ActiveFinding, NodeState
from necroscope.model.recorder_status import KubernetesStatus, Status
from necroscope.signals.episodes import Episodes
from necroscope.signals.thresholds import load_thresholds
from necroscope.sources.host import Host
from necroscope.store.child import OURSELVES
from necroscope.store.clock import take_anchor
from necroscope.store.config import KubernetesSettings
from necroscope.store.segment import Moment

# perf is started again, a full disk is emptied: what is over so soon is no condition of the node, and what is
# away for so short a time is not over.
LASTING_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class _Trouble:
    """Something that is wrong with the recorder itself, on the clock that nobody sets."""

    what: ActiveFinding
    since: float
    last: float  # seen


class AgentKubernetes:
    """Reports where the settings say so, and does nothing where they do not."""

    def __init__(
        self,
        host: Host,
        store: Path,
        config: Path | None,
        settings: Callable[[], KubernetesSettings],
    ) -> None:
        self.reporter: Reporter | None = None
        self._host = host
        self._store = store
        self._config = config
        self._settings = settings
        self._events = PendingEvents(Episodes(load_thresholds(config)))
        self._dropped = 0  # of the events, as far as the reporter knows
        self._troubles: dict[str, _Trouble] = {}  # what is wrong with ourselves
        self._has_told_trouble = False
        self._state: NodeState | None = None
        self._has_looked = False  # nothing is said of the node before
        self.load()

    @property
    def status(self) -> KubernetesStatus | None:
        """How it goes; None: nothing is reported."""
        if not (self.reporter and self.reporter.is_on):
            return None
        return replace(self.reporter.status, every_seconds=self.reporter.every_seconds)

    def load(self) -> None:
        """Read the settings, again at every SIGHUP."""
        self._events.episodes.thresholds = load_thresholds(self._config)
        settings = self._settings()
        if not settings.report:
            if self.reporter:
                self.reporter.is_on = False
            return
        command = self._command(settings)
        if self.reporter:
            self.reporter.is_on = True
            self.reporter.command, self.reporter.every_seconds = command, settings.every_seconds
        else:
            self.reporter = Reporter(command, settings.every_seconds)

    def take_state(self, state: NodeState | None) -> None:
        """What is wrong with the node now; None: that is not known any more."""
        self._state, self._has_looked = state, True

    def observe(self, moment: Moment, events: Sequence[Event]) -> None:
        """A moment, and what happened in it."""
        if not self.reporter:
            return
        self._events.queue_cpus.feed(moment)
        if events:
            self._events.take(events, take_anchor().offset_ns, time.monotonic_ns())

    def tick(self, status: Status, tell: Callable[[str, str], None]) -> None:
        """See to the child, hand on what is new, and tell how it goes."""
        if not self.reporter:
            return
        troubles = self._lasting(own_troubles(status))
        if self._has_looked:
            self.reporter.take(self._conditions(status, troubles))
        elif troubles or self._has_told_trouble:
            # Of itself it knows at once, and on a full disk it may never know more.
            self._has_told_trouble = True
            own = conditions_unexamined("", troubles)
            self.reporter.take([one for one in own if one.status != "Unknown"])
        self._hand_on(self.reporter)
        self.reporter.tick()
        tell("reporting to the cluster", self.reporter.status.error)
        tell("not all of it is reported", self.reporter.status.problems)

    def finish(self) -> None:
        """The last attempt; all that was recorded is sealed."""
        if self.reporter:
            self._hand_on(self.reporter)
            self.reporter.finish()

    def _hand_on(self, reporter: Reporter) -> None:
        reporter.add(self._events.due(time.monotonic_ns()))
        reporter.count_dropped(self._events.dropped - self._dropped)
        self._dropped = self._events.dropped

    def _conditions(self, status: Status, troubles: Sequence[ActiveFinding]) -> tuple[Condition, ...]:
        if self._state is None:
            why = f"what was recorded is not examined: {status.findings_error}"
            return conditions_unexamined(why, troubles)
        return conditions_of(self._state, troubles, self._events.last_ids)

    def _lasting(self, troubles: Sequence[ActiveFinding]) -> tuple[ActiveFinding, ...]:
        """Those that have stood for a while, and have not been away for as long."""
        now = time.monotonic()
        for one in troubles:
            known = self._troubles.get(one.id)
            self._troubles[one.id] = _Trouble(one, known.since if known else now, now)
        self._troubles = {id: one for id, one in self._troubles.items() if now - one.last < LASTING_SECONDS}
        return tuple(one.what for one in self._troubles.values() if one.last - one.since >= LASTING_SECONDS)

    def _command(self, settings: KubernetesSettings) -> list[str]:
        """UsageError where it is not known whom to tell, or about which node."""
        access = access_of(settings)
        command = [*OURSELVES, "kubernetes", "report", "--json", "--handed-over"]
        command += ["--store", str(self._store), "--root", str(self._host.root)]
        command += ["--address", access.address, "--node", node_of(settings)]
        command += ["--token-file", str(access.token_file)] if access.token_file else []
        command += ["--ca-file", str(access.ca_file)] if access.ca_file else []
        return [*command, "--config", str(self._config)] if self._config else command
