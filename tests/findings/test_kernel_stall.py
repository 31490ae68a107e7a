from __future__ import annotations

from necroscope.findings.kernel_stall import kernel_stall
from necroscope.model.finding import Severity
from necroscope.sources.kernel_log import KERNEL_LOG
from tests.segments import evidence, kernel_log, look, segment_of

LOCKUP = "watchdog: BUG: soft lockup - CPU#37 stuck for 22s! [kubelet:812]"
HUNG = "INFO: task jbd2/dm-0-8:512 blocked for more than 120 seconds."
REAL_TIME = "sched: RT throttling activated"
OOM = "Out of memory: Killed process 4242 (java) total-vm:9437184kB, anon-rss:8126464kB, file-rss:0kB"


def test_one_finding_per_kind_with_its_core() -> None:
    segment = segment_of({KERNEL_LOG: [kernel_log(LOCKUP, HUNG, LOCKUP, REAL_TIME)]})
    found = {
        finding.summary.split(" on ")[0].split(":")[0]: finding for finding in look(kernel_stall, segment)
    }
    assert {kind: finding.severity for kind, finding in found.items()} == {
        "soft-lockup": Severity.CRITICAL,
        "hung-task": Severity.WARNING,
        "rt-throttling": Severity.WARNING,
    }
    facts = evidence(found["soft-lockup"])
    assert (facts["lines"], facts["core"], facts["soft-lockup"]) == (2, 37, LOCKUP)


def test_memory_and_old_lines_are_not_stalls() -> None:
    assert not look(kernel_stall, segment_of({KERNEL_LOG: [kernel_log(OOM)]}))
    assert not look(kernel_stall, segment_of({KERNEL_LOG: [kernel_log(LOCKUP, age_seconds=30 * 3600)]}))
