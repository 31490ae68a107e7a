from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from necroscope.diagnosis.culprit import find_culprits
from necroscope.diagnosis.quiet_baseline.compared_seconds import is_entry
from necroscope.errors import NoSamplesError
from necroscope.model.culprit import Ranking, Suspect
from necroscope.model.time_range import TimeRange
from necroscope.profiles.window import Selection
from necroscope.signals.thresholds import load_thresholds
from necroscope.store.store import StoredSegment
from necroscope.store.stored_events import events_between
from tests.diagnosis.sampled_seconds import Plan, Work, sampled_segment
from tests.stored import UTC_NS, event_of

SECOND_NS = 10**9
WALK = "kubelet: do_syscall_64 > seq_read > memcg_numa_stat_show > mem_cgroup_nr_lru_pages"
SHOW = "kubelet: do_syscall_64 > seq_read > memcg_numa_stat_show"
TRAINER = "python"


def rank(
    segments: Sequence[StoredSegment], *begins: int, cores: tuple[int, ...] = (0,), length: int = 6
) -> Ranking:
    windows = [
        Selection(UTC_NS + begin * SECOND_NS, UTC_NS + (begin + length) * SECOND_NS, cpus=cores)
        for begin in begins
    ]
    events = events_between(segments, TimeRange(0, 2**62))
    return find_culprits(segments, windows, events, load_thresholds(None))


def walking(*spikes: range, process: str = "kubelet") -> Plan:
    """Core 0 trains at 30 to 40 %; in the spikes somebody walks in the kernel, who is always there."""

    def plan(core: int, second: int) -> Work:
        usual = {TRAINER: 0.3 + second % 3 * 0.05, f"{process}: do_syscall_64 > seq_read": second % 2 * 0.04}
        spike = {work.replace("kubelet", process): share for work, share in ((WALK, 0.4), (SHOW, 0.14))}
        return usual | (spike if core == 0 and any(second in one for one in spikes) else {})

    return plan


def named(ranking: Ranking) -> tuple[str, str]:
    assert ranking.culprit and ranking.culprit == ranking.suspects[0]
    return ranking.culprit.process, ranking.culprit.function


def suspect(ranking: Ranking, process: str, function: str, way: str = "inclusive") -> Suspect:
    (one,) = [s for s in ranking.suspects if (s.process, s.function, s.way) == (process, function, way)]
    return one


def test_the_process_and_the_deepest_function_that_explains_it(tmp_path: Path) -> None:
    segment = sampled_segment(tmp_path, walking(range(40, 45)), seconds=range(80))
    ranking = rank([segment], 40)
    assert named(ranking) == ("kubelet", "mem_cgroup_nr_lru_pages")
    culprit = ranking.culprit
    assert culprit and (culprit.kind, culprit.way, culprit.seconds_above) == ("pair", "inclusive", 5)
    assert culprit.share == pytest.approx(0.4 * 5 / 6) and culprit.quiet_share == 0 and culprit.lift is None
    assert (ranking.window_seconds, ranking.quiet_seconds, ranking.cores) == (6, 74, (0,))
    whole = suspect(ranking, "kubelet", "", "")
    assert whole.is_significant and whole.lift and whole.lift > 10
    alone = suspect(ranking, "", "memcg_numa_stat_show", "self")
    assert alone.share == pytest.approx(0.14 * 5 / 6)
    assert not any(s.function == "do_syscall_64" for s in ranking.suspects), "everything goes through it"
    assert not any(s.is_significant for s in ranking.suspects if s.process == TRAINER)


@pytest.mark.parametrize("last", [50, 54, 57, 60, 64, 70, 75])
def test_the_answer_does_not_depend_on_when_it_is_asked(tmp_path: Path, last: int) -> None:
    """A second round begins at 52; what its event tells of its length lags behind."""
    rounds = {*range(40, 46), *range(52, 75)}
    segment = sampled_segment(
        tmp_path,
        lambda core, second: {WALK: 1.0} if core == 0 and second in rounds else {TRAINER: 0.3},
        seconds=range(last),
        core0=["system" if second in rounds else "idle" for second in range(last)],
        events=[
            event_of("core-saturated", 40, core=0, seconds=6.0),
            *([event_of("core-saturated", 52, core=0, seconds=3.0)] if last > 55 else []),
        ],
    )
    ranking = rank([segment], 40)
    assert named(ranking) == ("kubelet", "mem_cgroup_nr_lru_pages")
    assert ranking.culprit and ranking.culprit.seconds_above == 6 and ranking.culprit.quiet_share == 0


def test_another_core_is_not_to_blame(tmp_path: Path) -> None:
    segment = sampled_segment(tmp_path, walking(range(40, 45)), seconds=range(80))
    ranking = rank([segment], 40, cores=(1,))
    assert ranking.culprit is None and not ranking.note
    assert named(rank([segment], 40, cores=()))[0] == "kubelet", "all cores together show it too"


def test_a_loop_in_user_space_is_a_process(tmp_path: Path) -> None:
    def plan(core: int, second: int) -> Work:
        return {
            TRAINER: 0.3,
            **({"spinner": 0.6, "spinner: do_page_fault": 0.1} if 40 <= second < 45 else {}),
        }

    ranking = rank([sampled_segment(tmp_path, plan, seconds=range(80))], 40)
    assert named(ranking) == ("spinner", "")
    assert ranking.culprit and ranking.culprit.kind == "process"


def test_many_processes_in_one_function(tmp_path: Path) -> None:
    """Each of them for too short a time to stand out by itself."""

    def plan(core: int, second: int) -> Work:
        workers = {f"worker-{n}: sys_futex > spin_lock": 0.08 for n in range(10)}
        return {TRAINER: 0.1, **(workers if 40 <= second < 46 else {})}

    ranking = rank([sampled_segment(tmp_path, plan, seconds=range(80))], 40)
    assert named(ranking) == ("", "spin_lock")


def test_a_window_across_segments(tmp_path: Path) -> None:
    plan = walking(range(38, 43))
    segments = [sampled_segment(tmp_path, plan, seconds=range(n, n + 20)) for n in (0, 20, 40, 60)]
    whole = sampled_segment(tmp_path / "whole", plan, seconds=range(80))
    assert rank(segments, 38) == rank([whole], 38)


def test_too_few_quiet_seconds_say_nothing(tmp_path: Path) -> None:
    ranking = rank([sampled_segment(tmp_path, walking(range(10, 15)), seconds=range(20))], 10)
    assert ranking.culprit is None and not any(s.is_significant for s in ranking.suspects)
    assert ranking.note == "only 14 quiet seconds to compare with, of 15 that it takes"
    assert suspect(ranking, "kubelet", "mem_cgroup_nr_lru_pages").share > 0.3, "what was seen is told"


def test_what_runs_all_the_time_does_not_stand_out(tmp_path: Path) -> None:
    segment = sampled_segment(tmp_path, walking(range(80)), seconds=range(80))
    assert rank([segment], 40).culprit is None


def test_what_is_common_to_several_windows_comes_first(tmp_path: Path) -> None:
    """One process in all of three, and a larger one in the last of them only."""
    spikes = walking(range(30, 35), range(60, 65), range(90, 95))

    def plan(core: int, second: int) -> Work:
        return {**spikes(core, second), **({"dd: read_zero": 0.8} if 90 <= second < 96 else {})}

    segment = sampled_segment(tmp_path, plan, seconds=range(130), events=[event_of("nic-reset", 35)])
    ranking = rank([segment], 30, 60, 90)
    assert (ranking.windows, ranking.window_seconds) == (3, 18)
    assert named(ranking) == ("kubelet", "mem_cgroup_nr_lru_pages")
    assert ranking.culprit and ranking.culprit.windows >= 2


def test_each_window_on_its_own_core(tmp_path: Path) -> None:
    def plan(core: int, second: int) -> Work:
        spike = (core == 0 and 30 <= second < 35) or (core == 1 and 60 <= second < 65)
        return {TRAINER: 0.3, **({WALK: 0.6} if spike else {})}

    segment = sampled_segment(tmp_path, plan, seconds=range(100))
    begins = ((30, (0,)), (60, (1,)))
    windows = [
        Selection(UTC_NS + begin * SECOND_NS, UTC_NS + (begin + 6) * SECOND_NS, cpus=cores)
        for begin, cores in begins
    ]
    ranking = find_culprits([segment], windows, [], load_thresholds(None))
    assert named(ranking) == ("kubelet", "mem_cgroup_nr_lru_pages")
    assert (
        (ranking.cores, ranking.windows) == ((0, 1), 2) and ranking.culprit and ranking.culprit.windows == 2
    )


def test_without_samples_it_is_an_error(tmp_path: Path) -> None:
    segment = sampled_segment(tmp_path, walking(), seconds=range(30))
    with pytest.raises(NoSamplesError):
        rank([segment], 500)


def test_entries_by_name_and_beginning() -> None:
    assert is_entry("do_syscall_64") and is_entry("entry_SYSCALL_64_after_hwframe")
    assert not is_entry("do_syscall_64x") and not is_entry("ksys_read") and not is_entry("")


def test_a_core_that_a_hardware_clock_never_sampled_was_idle(tmp_path: Path) -> None:
    segment = sampled_segment(tmp_path, walking(), seconds=range(40), cores=(0,))
    ranking = rank([segment], 20, cores=(1,))
    assert (ranking.window_seconds, ranking.suspects, ranking.note) == (6, (), "")


def test_a_share_is_of_a_full_second_also_where_idle_cores_are_not_sampled(tmp_path: Path) -> None:
    """Core 1 alone would seem to be full whenever it did anything: it did for a fifth of the time."""

    def plan(core: int, second: int) -> Work:
        return {TRAINER: 1.0} if core == 0 else {WALK: 0.2, "": 0.8} if 20 <= second < 26 else {"": 1.0}

    segment = sampled_segment(tmp_path, plan, seconds=range(60))  # 60 samples a second at most, of two cores
    assert suspect(rank([segment], 20, cores=(1,)), "kubelet", "", "").share == pytest.approx(1 / 3)


def test_a_moment_is_found_where_the_wall_clock_was_set(tmp_path: Path) -> None:
    """An hour forward between two segments of one boot: quiet seconds come from both."""
    plan, hour_ns = walking(range(50, 55)), 3600 * SECOND_NS
    early = sampled_segment(tmp_path, plan, seconds=range(40))
    late = sampled_segment(tmp_path, plan, seconds=range(40, 80))
    late = replace(
        late,
        begin_ns=late.begin_ns + hour_ns,
        end_ns=late.end_ns + hour_ns,
        offset_ns=late.offset_ns + hour_ns,
    )
    ranking = rank([early, late], 3600 + 50)
    assert named(ranking)[0] == "kubelet" and ranking.quiet_seconds == 74


def test_a_window_shorter_than_a_second_stands_beside_no_quiet_second_of_its_own(tmp_path: Path) -> None:
    segment = sampled_segment(tmp_path, walking(range(40, 41)), seconds=range(80))
    short = Selection(UTC_NS + 40 * SECOND_NS, UTC_NS + 40 * SECOND_NS + SECOND_NS // 4, cpus=(0,))
    events = events_between([segment], TimeRange(0, 2**62))
    ranking = find_culprits([segment], [short], events, load_thresholds(None))
    assert ranking.window_seconds == 1 and suspect(ranking, "kubelet", "memcg_numa_stat_show").lift is None
    assert ranking.quiet_seconds == 78, "40 before it, and 38 from 41.25 s on"
