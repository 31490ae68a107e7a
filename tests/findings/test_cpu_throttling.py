from __future__ import annotations

from necroscope.findings.cpu_throttling import cpu_throttling
from necroscope.sources.throttling import THROTTLING, CgroupThrottling
from tests.segments import evidence, look, segment_of


def test_the_worst_cgroup_is_named_and_the_others_counted() -> None:
    before = tuple(CgroupThrottling(f"/kubepods/pod{n}", 1000, 100, 5.0) for n in range(3))
    after = (
        CgroupThrottling("/kubepods/pod0", 1100, 190, 9.0),
        CgroupThrottling("/kubepods/pod1", 1100, 130, 6.0),
        CgroupThrottling("/kubepods/pod2", 1100, 110, 5.1),
        CgroupThrottling("/kubepods/new", 90, 90, 3.0),
    )
    (finding,) = look(cpu_throttling, segment_of({THROTTLING: [before, after]}))
    facts = evidence(finding)
    assert finding.summary == "/kubepods/pod0 was stopped by its CPU quota in 90% of its periods, and 1 more"
    assert (facts["cgroups throttled"], facts["time lost by /kubepods/pod0"]) == (2, 4.0)


def test_few_periods_say_nothing() -> None:
    moments = [(CgroupThrottling("/a", 0, 0, 0.0),), (CgroupThrottling("/a", 5, 5, 0.5),)]
    assert not look(cpu_throttling, segment_of({THROTTLING: moments}))
