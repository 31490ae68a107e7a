from __future__ import annotations

from dataclasses import replace

from necroscope.findings.examine import examine
from necroscope.findings.userspace_kernel_lines import userspace_kernel_lines
from necroscope.model.finding import Severity
from necroscope.signals.kernel_log_events import find_in_log
from necroscope.signals.thresholds import load_thresholds
from necroscope.sources.kernel_log import KERNEL_LOG, KernelLog
from tests.segments import evidence, kernel_log, look, segment_of

ENA = (
    "ena 0000:00:05.0 eth0: TX q 5 is paused for too long (threshold 5000000). "
    "Time since last napi 5180000 usec. napi scheduled: 1"
)
LOCKUP = "watchdog: BUG: soft lockup - CPU#5 stuck for 22s! [kubelet:4711]"
MARK = "necroscope mark: the canary begins"


def by_programs(*lines: str, age_seconds: float = 10, trusts_programs: bool = False) -> KernelLog:
    return kernel_log(*lines, age_seconds=age_seconds, facility=1, trusts_programs=trusts_programs)


def test_all_lines_of_programs_make_one_finding_and_nothing_else() -> None:
    segment = segment_of({KERNEL_LOG: [by_programs(ENA, "an ordinary line", LOCKUP, ENA)]})
    examination = examine(segment, load_thresholds(None))
    (finding,) = examination.findings
    assert (finding.id, finding.severity) == ("userspace-kernel-lines", Severity.INFO)
    assert finding.summary == (
        "3 lines that programs wrote to the kernel log read like the kernel's own: not counted"
    )
    assert evidence(finding)["lines"] == 3
    assert evidence(finding)["ena-tx-queue-paused (written by a program)"] == ENA
    assert any("--trust-kmsg" in str(advice) for advice in finding.advice)
    assert examination.events == ()


def test_one_line_is_told_in_the_singular() -> None:
    (finding,) = look(userspace_kernel_lines, segment_of({KERNEL_LOG: [by_programs(LOCKUP)]}))
    assert finding.summary.startswith("a line that a program wrote to the kernel log reads like")


def test_it_stays_quiet_where_nobody_pretends() -> None:
    for log in (
        kernel_log(ENA, LOCKUP),
        by_programs("an ordinary line", MARK),
        by_programs(ENA, age_seconds=30 * 3600),
        by_programs(ENA, trusts_programs=True),
    ):
        assert look(userspace_kernel_lines, segment_of({KERNEL_LOG: [log]})) == []


def test_lines_that_are_trusted_count_as_the_kernels_own() -> None:
    def ids(log: KernelLog) -> set[tuple[str, Severity]]:
        segment = segment_of({KERNEL_LOG: [log]})
        return {(one.id, one.severity) for one in examine(segment, load_thresholds(None)).findings}

    trusted = ids(by_programs(LOCKUP, trusts_programs=True))
    assert trusted == ids(kernel_log(LOCKUP)) == {("kernel-stall", Severity.CRITICAL)}


def test_each_reading_says_by_itself_whether_programs_are_trusted() -> None:
    later = replace(by_programs(LOCKUP, age_seconds=5), trusts_programs=True)
    found = find_in_log(segment_of({KERNEL_LOG: [by_programs(ENA), later]}))
    assert [event.kind for event in found.events] == ["soft-lockup"]
    assert [event.kind for event in found.userspace_lines] == ["nic-reset"]


def test_a_mark_is_an_event_whoever_wrote_it() -> None:
    found = find_in_log(segment_of({KERNEL_LOG: [by_programs(MARK)]}))
    assert [event.kind for event in found.events] == ["user-mark"] and not found.userspace_lines
