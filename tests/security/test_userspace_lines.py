"""Attack: a program's line that passes for the kernel's once it is parsed, recorded, read or configured."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from necroscope.agent import log_clock
from necroscope.agent.log_clock import LogClock
from necroscope.errors import ConfigError
from necroscope.model.event import Event
from necroscope.model.reading import Absence, Reading
from necroscope.signals.kernel_log_events import find_in_log, match_lines
from necroscope.sources.catalog import SOURCES
from necroscope.sources.host import Host
from necroscope.sources.kernel_log import (
    KERNEL_LOG,
    KernelLog,
    LogLine,
    _open_kmsg,
    parse_journal,
    parse_record,
    parse_syslog,
)
from necroscope.store.config import load_record_settings, load_trust_kmsg
from necroscope.store.counters import read_counters
from necroscope.store.journal import moment_frame, read_journal
from necroscope.store.segment import Moment
from necroscope.store.trust_programs import trusting_programs
from tests.agent.test_log_clock import Clocks, clocks, kmsg, marks  # noqa: F401 - fixtures
from tests.segments import BEGIN_NS, kernel_log, segment_of
from tests.stored import moment_of, write_moments

STALL = "ena 0000:00:05.0 eth0: Transmit time out"


@pytest.mark.parametrize("priority", [8, 9, 15, 30, 191, 2047])
def test_every_facility_but_the_kernels_is_a_programs(priority: int) -> None:
    record = parse_record(f"{priority},1,1000,-;{STALL}\n")
    (line,) = parse_syslog(f"<{priority}>[    0.001000] {STALL}\n")
    entry = {"__MONOTONIC_TIMESTAMP": "9", "SYSLOG_FACILITY": str(priority >> 3), "MESSAGE": STALL}
    (journal,) = parse_journal(json.dumps(entry))
    assert record and record.is_by_program and line.is_by_program and journal.is_by_program
    own = parse_record(f"{priority & 7},1,1000,-;{STALL}\n")
    assert own and not own.is_by_program


def test_a_journal_entry_that_does_not_say_who_wrote_it_is_a_programs() -> None:
    (line,) = parse_journal(json.dumps({"__MONOTONIC_TIMESTAMP": "9", "MESSAGE": STALL}))
    assert line.is_by_program


def test_a_record_inside_of_a_record_is_its_text() -> None:
    line = parse_record(f"14,7,1000,-;x\\x0a4,8,2000,-;{STALL}\n")
    assert line and line.is_by_program and line.sequence == 7


def test_a_plain_file_in_the_place_of_the_log_of_a_running_machine_is_not_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "kmsg"
    file.write_text(f"4,1,1000,-;{STALL}\n")
    monkeypatch.setattr(Host, "path", lambda *_: file)
    host = Host()
    assert host.is_live
    refused = _open_kmsg(host)
    assert isinstance(refused, Reading) and refused.absence is Absence.BROKEN


def trusted_moment() -> Moment:
    return trusting_programs(moment_of(1, {KERNEL_LOG: kernel_log(STALL, facility=1)}))


@pytest.mark.parametrize("trusts", [True, False])
def test_a_recording_says_itself_whether_programs_were_trusted(tmp_path: Path, trusts: bool) -> None:
    moment = trusted_moment() if trusts else moment_of(1, {KERNEL_LOG: kernel_log(STALL, facility=1)})
    write_moments(tmp_path, [moment])
    (sealed,) = read_counters(tmp_path, SOURCES)
    (open_,) = read_journal(moment_frame(moment)).moments
    for read in (sealed, open_):
        segment = replace(segment_of({KERNEL_LOG: [kernel_log()]}), moments=(read,))
        found = find_in_log(segment)
        assert (len(found.events), len(found.userspace_lines)) == ((1, 0) if trusts else (0, 1))


def test_a_moment_without_the_log_has_nothing_to_trust() -> None:
    empty = moment_of(1, {})
    assert trusting_programs(empty) is empty
    absent = replace(empty, readings={KERNEL_LOG.id: Reading(absence=Absence.NOT_PERMITTED, detail="no")})
    assert trusting_programs(absent) is absent


def test_the_command_line_or_the_configuration_decides_and_the_default_is_no(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text("")
    assert load_trust_kmsg(config) is False and load_trust_kmsg(config, said=True) is True
    assert load_record_settings(config, {}).trust_kmsg is False
    assert load_record_settings(config, {"trust_kmsg": True}).trust_kmsg is True
    config.write_text("[kernel_log]\ntrust_kmsg = true\n")
    assert load_trust_kmsg(config) is True and load_record_settings(config, {}).trust_kmsg is True
    for wrong in ("trust_kmsg = 1", 'trust_kmsg = "yes"', "trust = true"):
        config.write_text(f"[kernel_log]\n{wrong}\n")
        with pytest.raises(ConfigError):
            load_trust_kmsg(config)


def test_a_copy_of_our_mark_does_not_move_the_log_clock(clocks: Clocks, kmsg: Path) -> None:  # noqa: F811
    clock = LogClock(Host())
    clock.mark()
    (text,) = marks(kmsg)

    def read(*lines: LogLine) -> None:
        clock.calibrated(Reading(KernelLog(lines, 0, "/dev/kmsg")))

    read(LogLine(clocks.log_ns(), text, 1, 1))
    behind_ns = clock.behind_ns
    read(LogLine(clocks.log_ns() + 3600 * 10**9, text, 1, 2))
    assert clock.behind_ns == behind_ns and log_clock.MARK in text


def test_the_event_of_a_trusted_line_keeps_saying_who_wrote_it() -> None:
    (event,) = find_in_log(
        replace(segment_of({KERNEL_LOG: [kernel_log()]}), moments=(trusted_moment(),))
    ).events
    assert isinstance(event, Event) and event.from_user_space and event.time_ns < BEGIN_NS


FORGED = f"tmpfs: Unknown parameter 'x\n{STALL}"


@pytest.mark.parametrize(
    "lines",
    [
        [LogLine(7_000, FORGED, 0, 1)],  # as /dev/kmsg has it
        parse_syslog("".join(f"<3>[    0.000007] {line}\n" for line in FORGED.split("\n"))),
    ],
    ids=["/dev/kmsg", "syslog call"],
)
def test_a_line_break_in_a_name_that_the_kernel_complains_about(lines: list[LogLine]) -> None:
    """Any user can mount a tmpfs in a namespace of their own, with options of any text."""
    assert not lines[0].is_by_program
    assert match_lines(KernelLog(tuple(lines), 0, "a test"), lines).events == ()
