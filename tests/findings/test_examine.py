from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

import necroscope.findings.examine as examine_module
from necroscope.findings.catalog import DETECTORS
from necroscope.findings.detector import Case
from necroscope.findings.examine import examine
from necroscope.model.examination import Examination
from necroscope.model.finding import Finding
from necroscope.model.reading import Absence, Reading
from necroscope.signals.thresholds import load_thresholds
from necroscope.sources.cores import CORES
from necroscope.sources.kernel_log import KERNEL_LOG
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS, HierarchyCount, MemoryCgroups
from necroscope.store.segment import Segment
from tests.segments import core_seconds, kernel_log, segment_of

LOCKUP = "watchdog: BUG: soft lockup - CPU#37 stuck for 22s! [kubelet:812]"


def examined(segment: Segment) -> Examination:
    return examine(segment, load_thresholds(None))


def test_worst_first() -> None:
    cores = core_seconds(["user"] * 4)
    found = examined(segment_of({CORES: cores, KERNEL_LOG: [kernel_log(LOCKUP)] * 5})).findings
    assert [finding.id for finding in found] == ["kernel-stall", "core-saturated"]


def test_an_absent_source_is_named_with_reason_hint_and_who_misses_it() -> None:
    refused: Reading[None] = Reading(
        absence=Absence.NOT_PERMITTED, detail="/dev/kmsg: Operation not permitted"
    )
    examination = examined(segment_of({CORES: core_seconds(["idle"] * 4), KERNEL_LOG: [refused] * 5}))
    (row,) = [row for row in examination.not_checked if row.source == "kernel-log"]
    assert row.reason == "not permitted: /dev/kmsg: Operation not permitted"
    assert row.hint == "CAP_SYSLOG, or run as root"
    assert {"nic-reset", "kernel-stall"} <= set(row.affects)
    assert "nic-reset" not in examination.checked
    assert "core-saturated" in examination.checked


def test_too_short_a_look_is_not_a_healthy_one() -> None:
    examination = examined(segment_of({CORES: core_seconds(["system"] * 2)}))
    assert "core-saturated" not in examination.checked
    (row,) = [row for row in examination.not_checked if row.source == "core-saturated"]
    assert row.reason == "looked for 2 s, and it takes 3 s in a row to say so"


def test_a_source_that_broke_on_the_way_says_so() -> None:
    broke: Reading[None] = Reading(absence=Absence.BROKEN, detail="/proc/stat: Input/output error")
    examination = examined(segment_of({CORES: [core_seconds(["idle"])[0], broke, broke]}))
    assert ("cores", "unreadable: /proc/stat: Input/output error") in [
        (row.source, row.reason) for row in examination.not_checked
    ]


def test_one_moment_is_too_little_for_a_rate_and_it_says_so() -> None:
    examination = examined(segment_of({CORES: core_seconds(["idle"])[:1]}, is_live=False))
    assert "core-saturated" not in examination.checked
    assert ("cores", "only one moment was seen, and a rate needs two") in [
        (row.source, row.reason) for row in examination.not_checked
    ]


def test_a_detector_that_fails_does_not_silence_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Case) -> Iterator[Finding]:
        raise RuntimeError("boom")

    broken = replace(DETECTORS[0], look=fail)
    monkeypatch.setattr(examine_module, "DETECTORS", (broken, *DETECTORS[1:]))
    cgroups = MemoryCgroups(HierarchyCount("memory (v1)", 1, 9_000, 10, 8_990, "/proc/cgroups"), (), None)
    examination = examined(segment_of({CORES: core_seconds(["system"] * 5), MEMORY_CGROUPS: [cgroups] * 6}))
    assert [finding.id for finding in examination.findings] == ["core-saturated"]
    assert any("RuntimeError: boom" in row.reason for row in examination.not_checked)
