"""What the overview and the diagnosis show of a range."""

from __future__ import annotations

from dataclasses import replace

from necroscope.server.answers.diagnosis import Explained
from necroscope.server.answers.events import Events
from necroscope.server.answers.hosts import Hosts
from necroscope.server.one_file import answer_key
from necroscope.server.one_file.collected import Collected
from necroscope.server.questions.cores import ask_cores
from necroscope.server.questions.diagnosis import ask_diagnosis
from necroscope.server.questions.events import ask_events
from necroscope.server.questions.hosts import ask_hosts
from necroscope.server.questions.zombies import ask_zombies
from necroscope.server.range_and_filters import Range
from necroscope.server.recorded_store import RecordedStore

CORE_COLUMNS = 4320  # 12 hours, ten seconds each
ZOMBIE_COLUMNS = 1000


def collect_overview(
    collected: Collected, store: RecordedStore, span: Range
) -> tuple[Events | None, Explained | None]:
    """Events, diagnosis, zombies and cores. NothingRecordedError: there is no such host."""
    store.segments_of(span.host)
    collected.ask(answer_key.HOSTS, lambda: only_host(ask_hosts(store), span))
    events: Events | None = collected.ask(answer_key.EVENTS, lambda: ask_events(store, span, ()))
    diagnosis_key = answer_key.diagnosis_key(span)
    explained: Explained | None = collected.ask(diagnosis_key, lambda: ask_diagnosis(store, span))
    collected.ask(answer_key.ZOMBIES, lambda: ask_zombies(store, span, ZOMBIE_COLUMNS))
    cores_key = answer_key.cores_key(span)
    collected.ask(cores_key, lambda: ask_cores(store, span, CORE_COLUMNS))
    if not collected.holds(cores_key):
        collected.left_out.append("the heatmap of cores: there are too many for a file of 15 MB")
    return events, explained


def only_host(hosts: Hosts, span: Range) -> Hosts:
    """This host and this range: the others of a store are nobody's business who reads the file."""
    own = [
        replace(
            host,
            begin_us=max(host.begin_us, span.begin_us),
            end_us=min(host.end_us, span.end_us),
            is_live=False,
        )
        for host in hosts.hosts
        if host.name == span.host
    ]
    return replace(hosts, hosts=own, damaged=[])
