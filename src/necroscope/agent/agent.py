"""The recorder put together: sources, clock, store, perf, metrics; and what its signals do."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from necroscope.agent.findings_feed import AgentFindings
from necroscope.agent.flight import FlightMemory
from necroscope.agent.heartbeat import Heartbeat
from necroscope.agent.kubernetes_feed import AgentKubernetes
from necroscope.agent.log_clock import LogClock
from necroscope.agent.metrics_feed import AgentMetrics
from necroscope.agent.output import Output, Profiler, Workshop
from necroscope.agent.previous_run import look_back
from necroscope.agent.recorder import Parts, Recorder
from necroscope.agent.rolling import RollingSegments
from necroscope.agent.sealer import Sealer, read_own_memory_limit, seal_command, seal_memory_bytes
from necroscope.agent.shipper import Shipper, ship_command
from necroscope.agent.stop_signals import Asked
from necroscope.agent.wakeup import Bell
from necroscope.agent.writer import MOST_WAITING_BYTES, Writer
from necroscope.errors import NecroscopeError
from necroscope.findings.userspace_kernel_lines import NOT_COUNTED
from necroscope.model.event import Event
from necroscope.model.labels import Labels
from necroscope.model.node_state import NodeState
from necroscope.model.recorder_status import OwnCost, Status
from necroscope.profiles.capture import Capture
from necroscope.profiles.flight_capture import FlightCapture
from necroscope.profiles.kallsyms import save_kallsyms
from necroscope.profiles.recovery import recover_captures
from necroscope.profiles.segment_capture import SegmentCapture
from necroscope.signals.thresholds import load_thresholds
from necroscope.signals.watch import Watch
from necroscope.sources.host import Host
from necroscope.sources.instance import INSTANCE
from necroscope.store.config import FleetSettings, KubernetesSettings, RecordSettings
from necroscope.store.retention import make_room
from necroscope.store.sampler import Sampler
from necroscope.store.segment import Moment

CAPTURE_FOLDER = ".capture"
MOST_FLIGHT_BYTES = 256 << 20
LOOK_EVERY_NS = 5 * 10**9  # at itself: what the metrics show of the recorder
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Orders:
    """What the command line asked for."""

    host: Host
    store: Path
    config: Path | None
    settings: Callable[[], RecordSettings]  # read again at every SIGHUP
    seconds: float | None
    flight: bool
    keep_capture: bool
    perf: str
    say: Callable[[str], None]  # tells a person
    fleet: Callable[[], FleetSettings] = FleetSettings  # the same; by itself nothing is shipped
    kubernetes: Callable[[], KubernetesSettings] = KubernetesSettings  # and nothing is reported
    heartbeat: Path | None = None  # a file to touch with every reading


class Agent:
    """One recorder of one host. Whoever makes it holds the host's folder."""

    def __init__(self, orders: Orders, folder: Path, asked: Asked) -> None:
        self._orders = orders
        self._asked = asked
        self._settings = orders.settings()
        self._rate = self._settings.rate  # of the perf that runs
        thresholds = load_thresholds(orders.config)
        self._watch = Watch(thresholds)
        per_core = self._settings.per_core_metrics
        self._metrics = AgentMetrics(thresholds, lambda: self.status, per_core=per_core)
        self._findings = AgentFindings(thresholds, self._take_state)
        self._heartbeat = Heartbeat(orders.heartbeat)
        self._begin_utc_ns = time.time_ns()
        self._look_ns = 0
        self._profiling = ""  # how samples were taken last
        self._told: dict[str, str] = {}
        settings = self._settings
        self._sealer = Sealer(
            self._seal_command(),
            settings.segment_seconds,
            seal_memory_bytes(settings, read_own_memory_limit(Host())),
        )
        self._shipper = Shipper(ship_command(orders.host, orders.store, orders.config), orders.fleet)
        self._kubernetes = AgentKubernetes(orders.host, orders.store, orders.config, orders.kubernetes)
        self._bell = Bell(orders.host)
        self._folder = folder
        self._recorder = self._make_recorder(folder)
        # A flight's memory comes as one piece, which must not be given up.
        most_bytes = MOST_FLIGHT_BYTES if orders.flight else MOST_WAITING_BYTES
        self._writer = Writer(most_bytes, make_room=self._make_room)  # a thread: nothing forks from here on
        asked.when_stopped(self._recorder.stop)
        self._capture: Capture | None = None
        self._output: Output | None = None
        self.status = self._look()

    @property
    def left_out(self) -> tuple[str, ...]:
        """What the samples have to do without."""
        return self._capture.left_out if self._capture else ()

    @property
    def node_state(self) -> NodeState | None:
        """What is wrong with the node now; None: it is not known yet, or no longer."""
        return self._findings.state

    def _take_state(self, state: NodeState | None) -> None:
        """A new state of the node, or that it is not known any more: all who tell of it hear it here."""
        self._metrics.meter.take_state(state)
        self._kubernetes.take_state(state)

    def run(self) -> Status:
        """Record until a signal, or as long as was asked for."""
        with self._metrics.told(self._settings, self._say):
            profiler = self._start_capture()
            first = self._recorder.first_moment()
            workshop = Workshop(self._folder, _labels(first), self._writer, self._sealer, profiler)
            kind = FlightMemory if self._orders.flight else RollingSegments
            self._output = kind(workshop, self._settings.segment_seconds)
            self._recorder.run(first, self._output, self._orders.seconds)
        self._bell.close()
        self._kubernetes.finish()
        self._shipper.finish()
        # What the disk has not taken until now is lost.
        look = self._look()
        self.status = replace(look, frames_dropped=look.frames_dropped + look.frames_waiting)
        return self.status

    def _make_recorder(self, folder: Path) -> Recorder:
        before = look_back(folder, self._orders.host)
        recover_captures(folder / CAPTURE_FOLDER, before.open_segments)
        for why in self._findings.rebuild(folder, before.boot_id, time.monotonic_ns()):
            self._say(f"findings from before the start are not known: {why}")
        if not self._orders.flight:  # which writes nothing before an event
            boots = {segment.boot_id for segment in before.open_segments}
            save_kallsyms(folder, before.boot_id, boots)
        for segment in before.open_segments:
            self._sealer.add(segment.folder)
        parts = Parts(
            sampler=Sampler(self._orders.host),
            log_clock=LogClock(self._orders.host),
            bell=self._bell,
            watch=self._watch,
            observe=self._observe,
            log_from_ns=before.end_ns or time.monotonic_ns(),
            trusts_programs=lambda: self._settings.trust_kmsg,
            before=before.gap(time.monotonic_ns()),
        )
        return Recorder(parts)

    def _start_capture(self) -> Profiler | None:
        orders, rate, folder = self._orders, self._settings.rate, self._folder / CAPTURE_FOLDER
        if not rate:
            return None
        self._capture = Capture(folder, orders.host, rate, perf=orders.perf, flight=orders.flight)
        if orders.flight:
            return FlightCapture(self._capture, folder)
        return SegmentCapture(self._capture, folder)

    def _seal_command(self) -> list[str]:
        orders = self._orders
        return seal_command(orders.host, orders.store, self._settings, keep_capture=orders.keep_capture)

    def _make_room(self) -> None:
        make_room(self._folder, self._settings.budget, time.time_ns())

    def _observe(self, moment: Moment, events: Sequence[Event]) -> None:
        self._heartbeat.beat()
        self._metrics.meter.observe(moment, events)
        self._findings.observe(moment, events, self._watch.new_userspace_lines)
        if moment.time_ns >= self._look_ns:
            self._look_ns = moment.time_ns + LOOK_EVERY_NS
            self.status = self._look()
        for event in events:
            self._say(f"{event.kind}: {event.text}")
        self._tell("the store", self._writer.error)
        self._tell("sealing", self._sealer.error)
        self._tell("findings", self._findings.error)
        self._tell("the textfile", self._metrics.textfile_error)
        self._tell("the kernel log", NOT_COUNTED if self._watch.userspace_lines else "")
        self._shipper.tick()
        self._tell("shipping", self._shipper.status.error)
        self._tell("not shipped", self._shipper.status.problems)
        self._kubernetes.observe(moment, events)
        self._kubernetes.tick(self.status, self._tell)
        if self._capture:
            self._tell("samples", self._capture.error)
            self._tell("left out of the samples", "; ".join(self._capture.left_out))
        if self._asked.to_reload:
            self._asked.to_reload = False
            self._reload()
        # perf may not be replaceable just now: then it is asked again.
        if self._capture and self._settings.rate != self._rate and self._capture.replace(self._settings.rate):
            self._rate = self._settings.rate

    def _tell(self, what: str, state: str) -> None:
        """Say when something goes wrong and when it is well again, once."""
        if self._told.get(what, "") != state:
            self._say(f"{what}: {state or 'well again'}")
            self._told[what] = state

    def _say(self, text: str) -> None:
        with suppress(OSError):  # the terminal has gone: that is no reason to stop
            self._orders.say(text)

    def _reload(self) -> None:
        try:
            settings, thresholds = self._orders.settings(), load_thresholds(self._orders.config)
            self._shipper.load()
            self._kubernetes.load()
        except NecroscopeError as error:
            self._say(f"the configuration is not reloaded: {error.what}")
            return
        if (settings.rate == 0) != (self._settings.rate == 0):
            self._say("whether samples are taken is settled at the start: rate is not changed")
            settings = replace(settings, rate=self._settings.rate)
        if settings.listen != self._settings.listen:
            self._say("the address for metrics is settled at the start: listen is not changed")
            settings = replace(settings, listen=self._settings.listen)
        if settings.textfile != self._settings.textfile:
            self._say("the file for metrics is settled at the start: textfile is not changed")
            settings = replace(settings, textfile=self._settings.textfile)
        self._settings = settings
        self._watch.saturated.set_limits(thresholds)
        self._findings.set_thresholds(thresholds)
        self._metrics.set_limits(thresholds)
        if self._output:
            self._output.seconds = settings.segment_seconds
        self._sealer.command = self._seal_command()
        self._sealer.segment_seconds = settings.segment_seconds
        self._sealer.memory_bytes = seal_memory_bytes(settings, read_own_memory_limit(Host()))
        self._say("the configuration is reloaded")

    def _look(self) -> Status:
        capture, sealer = self._capture, self._sealer
        if capture and capture.is_ready:
            self._profiling = capture.description
        costs = [
            OwnCost("recorder", time.process_time(), _resident_bytes(os.getpid())),
            OwnCost("sealing", sealer.job.cpu_seconds, _resident_bytes(sealer.job.pid)),
        ]
        shipper = self._shipper
        if shipper.is_on or shipper.job.cpu_seconds:
            costs.append(OwnCost("shipping", shipper.job.cpu_seconds, _resident_bytes(shipper.job.pid)))
        if reporter := self._kubernetes.reporter:
            costs.append(OwnCost("reporting", reporter.job.cpu_seconds, _resident_bytes(reporter.job.pid)))
        if capture:
            costs.append(OwnCost("perf", capture.cpu_seconds(), capture.resident_bytes()))
        return Status(
            begin_utc_ns=self._begin_utc_ns,
            moments=self._recorder.moments,
            segments_sealed=sealer.sealed,
            segments_waiting=sealer.waiting,
            store_bytes=sealer.store_bytes,
            store_error=self._writer.error,
            frames_waiting=self._writer.waiting,
            frames_dropped=self._writer.dropped,
            profiling="" if capture and capture.error else self._profiling,
            profiling_error=capture.error if capture else "",
            perf_starts=capture.starts if capture else 0,
            gaps=self._recorder.gaps,
            gap_seconds=self._recorder.gap_seconds,
            gaps_before=self._recorder.gaps_before,
            gap_seconds_before=self._recorder.gap_seconds_before,
            costs=tuple(costs),
            sealing_error=sealer.error,
            segments_incomplete=sealer.incomplete,
            is_flight=self._orders.flight,
            findings_error=self._findings.error,
            ship=shipper.status if shipper.is_on else None,
            kubernetes=self._kubernetes.status,
            userspace_lines=self._watch.userspace_lines,
        )


def _labels(first: Moment) -> Labels:
    reading = first.readings[INSTANCE.id]
    return reading.value or Labels()


def _resident_bytes(pid: int | None) -> int:
    fields = (Host().read(f"/proc/{pid}/statm").value or "").split() if pid else []
    return int(fields[1]) * PAGE_BYTES if fields else 0
