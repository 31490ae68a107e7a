from __future__ import annotations

from necroscope.signals.task_time import ProcessShare, TaskTime, over
from necroscope.sources.processes import PROCESSES, TICKS_PER_SECOND, EndedChildren, Processes, Task
from tests.segments import BEGIN_NS, segment_of

SECOND_NS = 10**9
TASKS = (
    Task(812, 830, "kubelet", 1, 0, TICKS_PER_SECOND // 2, "kubelet.service"),
    Task(812, 831, "worker", 1, TICKS_PER_SECOND // 4, 0, "kubelet.service"),
    Task(77, 77, "bash", 1, 0, TICKS_PER_SECOND // 10, ""),
    Task(900, 900, "python", 0, TICKS_PER_SECOND, 0, ""),
)
ENDED = (EndedChildren(77, "bash", TICKS_PER_SECOND // 5, ""),)
SEGMENT = segment_of({PROCESSES: [Processes(4, TASKS, ENDED)] * 6})


def test_threads_count_together_on_the_cpu_they_ran_on_the_busiest_first() -> None:
    time = over(SEGMENT, 1, BEGIN_NS + SECOND_NS, BEGIN_NS + 4 * SECOND_NS)
    assert time.busiest(9) == [
        ProcessShare("kubelet", 812, "kubelet.service", 0.75),
        ProcessShare("bash", 77, "", 0.1),
    ]
    assert [str(one) for one in time.busiest(2)] == ["kubelet (pid 812) of kubelet.service", "bash (pid 77)"]
    assert (time.seconds, time.share) == (3.0, 0.85)


def test_only_readings_of_the_span_count() -> None:
    assert over(SEGMENT, 1, BEGIN_NS + 2 * SECOND_NS, BEGIN_NS + 3 * SECOND_NS).seconds == 1.0
    nothing = over(SEGMENT, 1, BEGIN_NS + 60 * SECOND_NS, BEGIN_NS + 70 * SECOND_NS)
    assert not nothing and (nothing.share, nothing.busiest(3)) == (0.0, [])


def test_children_that_ended_are_their_parents_on_any_cpu() -> None:
    for cpu in (0, 1):
        (parent,) = over(SEGMENT, cpu, BEGIN_NS, BEGIN_NS + 5 * SECOND_NS).ended(3)
        assert parent == ProcessShare("bash", 77, "", 0.2)


def test_a_process_has_no_more_than_the_whole_cpu() -> None:
    """A thread that moved counts with all of its time where it ran last."""
    time = TaskTime(0)
    time.feed(Processes(1, (Task(5, 5, "a", 0, 2 * TICKS_PER_SECOND, 0, ""),)), 1.0)
    assert time.busiest(1)[0].share == 1.0 and time.share == 2.0
