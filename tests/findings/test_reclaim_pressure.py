from __future__ import annotations

from necroscope.findings.reclaim_pressure import reclaim_pressure
from necroscope.model.finding import Severity
from necroscope.sources.kernel_log import KERNEL_LOG
from necroscope.sources.pressure import PRESSURE, Pressure, Stall
from necroscope.sources.reclaim import RECLAIM, Reclaim
from tests.segments import evidence, kernel_log, look, segment_of

KILL = "Out of memory: Killed process 4242 (java) total-vm:9437184kB, anon-rss:8126464kB, file-rss:0kB"
OWN_LIMIT = "Memory cgroup out of memory: Killed process 77 (node) total-vm:1kB, anon-rss:1kB, file-rss:0kB"


def reclaim(scanned_directly: int) -> Reclaim:
    return Reclaim(0, scanned_directly, 0, 0, scanned_directly // 100, 0, 1 << 30, 1 << 34)


def test_direct_reclaim() -> None:
    stall = Stall(0, 0)
    pressures = [Pressure(stall, stall, Stall(us, 0), None) for us in (0, 500_000)]
    segment = segment_of({RECLAIM: [reclaim(0), reclaim(5_000)], PRESSURE: pressures})
    (finding,) = look(reclaim_pressure, segment)
    facts = evidence(finding)
    assert (facts["scanned by waiting tasks in the worst second"], facts["allocations that waited"]) == (
        5_000,
        50,
    )
    assert facts["time some task waited for memory"] == 0.5


def test_a_burst_of_one_second_is_not_averaged_away() -> None:
    moments = [reclaim(0)] * 5 + [reclaim(9_000)] * 6
    (finding,) = look(reclaim_pressure, segment_of({RECLAIM: moments}))
    assert "9,000 pages a second" in finding.summary


def test_a_little_scanning_is_ordinary() -> None:
    assert not look(reclaim_pressure, segment_of({RECLAIM: [reclaim(0), reclaim(900)]}))


def test_a_kill_of_the_whole_node_but_not_of_a_container_at_its_limit() -> None:
    moments = [reclaim(0), reclaim(0)]
    segment = segment_of({RECLAIM: moments, KERNEL_LOG: [kernel_log(OWN_LIMIT, KILL), kernel_log()]})
    (finding,) = look(reclaim_pressure, segment)
    assert finding.severity is Severity.CRITICAL
    assert finding.summary == "the node ran out of memory: the kernel killed java (pid 4242)"
    assert not look(reclaim_pressure, segment_of({RECLAIM: moments, KERNEL_LOG: [kernel_log(OWN_LIMIT)] * 2}))
