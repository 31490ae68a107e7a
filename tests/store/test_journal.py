"""What a recorder wrote is read back, also from what is left of it."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest

from necroscope.model.event import Event
from necroscope.model.reading import Absence, Reading
from necroscope.sources.cores import CORES
from necroscope.sources.interrupts import INTERRUPTS
from necroscope.sources.kernel_log import KERNEL_LOG, KernelLog, LogLine
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS
from necroscope.sources.nic_queues import NIC_QUEUES
from necroscope.sources.softirqs import SOFTIRQS
from necroscope.sources.units import UNITS
from necroscope.store.clock import Anchor
from necroscope.store.counters import read_tables
from necroscope.store.frames import frame
from necroscope.store.journal import (
    End,
    anchor_frame,
    clip_frame,
    end_frame,
    event_frame,
    last_moment_ns,
    layout_frame,
    moment_frame,
    read_journal,
)
from necroscope.store.segment import Moment
from necroscope.store.tables import shape_of
from tests.segments import BEGIN_NS, core_seconds
from tests.stored import event_of, moment_of, seconds_of

LOG = KernelLog((LogLine(BEGIN_NS, "größe \udcff \x00", 0, 7),), 1, "/dev/kmsg")
MOMENT = moment_of(
    0,
    {
        CORES: core_seconds(["idle"])[0],
        NIC_QUEUES: (),
        KERNEL_LOG: LOG,
        UNITS: Reading(absence=Absence.NOT_PERMITTED, detail="run/systemd/private: Permission denied"),
    },
)
EVENT = Event("nic-reset", BEGIN_NS, "rule", "line", 9, True, "stall", "eth0", queue=5, stall_seconds=5.18)
ANCHOR = Anchor(1, 2, 3, 4, 5, synchronised=False)


def test_everything_comes_back() -> None:
    end = End(BEGIN_NS + 5, "full")
    frames = [
        moment_frame(MOMENT),
        anchor_frame(ANCHOR),
        event_frame(EVENT),
        clip_frame("begin", 10),
        clip_frame("end", 20),
        end_frame(end),
    ]
    journal = read_journal(b"".join(frames))
    assert journal.moments == [MOMENT]
    assert journal.anchors == [ANCHOR]
    assert journal.events == [EVENT]
    assert (journal.clip_begin_ns, journal.clip_end_ns, journal.end) == (10, 20, end)


def test_a_journal_without_an_end_has_none() -> None:
    journal = read_journal(moment_frame(MOMENT) + end_frame(End(1, "full"))[:-1])
    assert journal.moments and journal.end is None
    assert read_journal(b"").moments == []


def test_the_last_moment_is_found_without_reading_all() -> None:
    moments = seconds_of(["idle"] * 3)
    data = b"".join(map(moment_frame, moments))
    assert last_moment_ns(data) == moments[-1].time_ns
    assert last_moment_ns(data + event_frame(EVENT) + anchor_frame(ANCHOR)) == moments[-1].time_ns
    assert last_moment_ns(data[:-1]) == moments[-2].time_ns
    assert last_moment_ns(event_frame(EVENT)) is None


def _changed(kind: str, content: object) -> bytes:
    return frame(json.dumps([kind, content]).encode())


def test_what_only_a_newer_version_knows_is_left_out() -> None:
    data = b"".join(
        [
            _changed("weather", "fine"),
            _changed("event", {**asdict(EVENT), "colour": "red"}),
            _changed("anchor", {**asdict(ANCHOR), "tai_ns": 5}),
            _changed("end", {"time_ns": 1, "why": "full", "by": "somebody"}),
            _changed("moment", [5, {"smell": [[1]], "nic-queues": [[], [], []]}, {"nic-queues": 1}]),
        ]
    )
    journal = read_journal(data)
    assert (journal.events, journal.anchors, journal.end) == ([EVENT], [ANCHOR], End(1, "full"))
    assert journal.moments == [Moment(5, {"nic-queues": Reading(())}, {"nic-queues": 1})]


def test_a_moment_to_be_sealed_has_all_but_its_rows() -> None:
    journal, _ = read_tables(moment_frame(MOMENT) + _changed("moment", [5, {"smell": [[1]]}, {"smell": 1}]))
    first, second = journal.moments
    assert (first.time_ns, first.cost_ns) == (MOMENT.time_ns, MOMENT.cost_ns)
    assert first.readings[UNITS.id] == MOMENT.readings[UNITS.id]
    assert {name: reading.absence for name, reading in first.readings.items()} == {
        name: reading.absence for name, reading in MOMENT.readings.items()
    }
    assert second == Moment(5, {}, {"smell": 1})
    with pytest.raises(ValueError, match="not a moment"):
        read_tables(frame(b'["moment",{}]'))


def test_an_event_of_an_older_version_has_the_defaults() -> None:
    content = asdict(EVENT)
    del content["unit"], content["seconds"]
    assert read_journal(_changed("event", content)).events == [replace(EVENT, unit="", seconds=None)]


def test_a_reading_with_other_columns_is_absent_and_not_mistaken() -> None:
    readings = {
        CORES.id: [[[0, 1, 2]]],  # a flat table
        KERNEL_LOG.id: [[[0, "way", False, "one more"]], []],  # one with tables beside it
        INTERRUPTS.id: [[[1, "eth0"]]],  # without one of its tables
        SOFTIRQS.id: [[[0] * len(shape_of(SOFTIRQS).tables[0].columns), [1]]],  # not in the first row
        MEMORY_CGROUPS.id: [[], []],  # nothing, of a source that always gives one value
        NIC_QUEUES.id: [[], [], []],
    }
    data = _changed("moment", [5, readings, {}])
    for journal in (read_journal(data), read_tables(data)[0]):
        (moment,) = journal.moments
        broken = {name for name, reading in moment.readings.items() if reading.absence is Absence.BROKEN}
        assert broken == readings.keys() - {NIC_QUEUES.id}
        assert "another version" in moment.readings[CORES.id].reason


@pytest.mark.parametrize("value", [True, 0.5, "x"])
def test_a_value_of_the_wrong_type_names_its_source_and_column(value: object) -> None:
    readings = {CORES.id: [[[0, 1, 2, 3, 4, value, 6, 7, 8]]], NIC_QUEUES.id: [[], [[0, value]], []]}
    data = layout_frame() + _changed("moment", [5, readings, {}])
    (moment,) = read_tables(data)[0].moments
    assert {name: reading.reason for name, reading in moment.readings.items()} == {
        CORES.id: "unreadable: table cores, column iowait: a value of the wrong type",
        NIC_QUEUES.id: "unreadable: table nic-queues.cores, column value: a value of the wrong type",
    }


def test_events_are_read_in_the_order_they_were_told() -> None:
    told = [event_of("oom-kill", 3), event_of("oom-kill", 1), event_of("oom-kill", 2)]
    assert read_journal(b"".join(map(event_frame, told))).events == told
