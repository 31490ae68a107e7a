"""What chance gives, against brute force, and on generated sets of jobs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from necroscope.fleet.questions.jobs_chance import Coverage, Draw, weigh
from necroscope.statistics.poisson_binomial import probability_of_at_least

SECOND = 10**6
WINDOW = (30 * SECOND, 5 * SECOND)


def covered(
    times: dict[str, list[int]], recorded: dict[str, int], hosts: list[str], end: int = 10**10
) -> float:
    seconds = {host: [time * SECOND for time in some] for host, some in times.items()}
    return Coverage(seconds, {h: s * SECOND for h, s in recorded.items()}, WINDOW, (0, end)).chance(hosts)


def test_coverage_counts_overlapping_windows_once() -> None:
    recorded = {"a": 1000, "b": 1000, "c": 500}
    assert covered({"a": [100]}, recorded, ["a"]) == pytest.approx(0.035)
    assert covered({"a": [100, 110]}, recorded, ["a"]) == pytest.approx(0.045)
    assert covered({"a": [100, 100, 500]}, recorded, ["a"]) == pytest.approx(0.07)
    assert covered({"a": [100], "b": [120]}, recorded, ["a", "b"]) == pytest.approx(0.055)
    assert covered({"a": [100], "c": [300]}, recorded, ["a", "c"]) == pytest.approx(0.14)  # the shortest
    assert covered({"a": [100]}, recorded, ["a", "c"]) == pytest.approx(0.035)  # c has no event
    assert covered({}, recorded, ["a"]) == 0
    assert covered({"a": [1, 1000]}, recorded, ["a"], 1000 * SECOND) == pytest.approx(
        0.036
    )  # within the range
    assert covered({"a": [100]}, {"a": 10}, ["a"]) == 1
    assert covered({"a": [100]}, {}, ["a"]) == 1


def test_coverage_is_the_share_of_ends_with_an_event() -> None:
    """The window of a job and the windows of events say the same."""
    random = np.random.default_rng(3)
    times = sorted(random.integers(0, 20_000, 40).tolist())
    ends = np.arange(0, 20_000, 0.25)
    hit = np.zeros(len(ends), bool)
    for time in times:
        hit |= (time >= ends - 30) & (time <= ends + 5)
    assert covered({"a": times}, {"a": 20_000}, ["a"], 20_000 * SECOND) == pytest.approx(hit.mean(), abs=1e-3)


def test_jobs_that_end_together_are_one_draw() -> None:
    alone = weigh([Draw(1, (0.01,))] * 5)
    together = weigh([Draw(5, (0.01,) * 5)])
    assert alone.p == pytest.approx(1e-10)
    assert together.p == pytest.approx(0.01)
    assert alone.expected == together.expected == pytest.approx(0.05)
    with_others = weigh([Draw(5, (*[0.01] * 5, *[0.0] * 5))])  # that cannot have an event
    assert with_others.p == pytest.approx(0.01)


def test_what_is_beyond_chance() -> None:
    some = weigh([*[Draw(1, (0.01,))] * 10, *[Draw(0, (0.01,))] * 90])
    assert some.hits == 10 and some.expected == pytest.approx(1.0)
    assert some.more == pytest.approx(9.09, abs=0.01)
    low, high = some.interval
    assert 6 <= low <= 9 and high == 10
    none = weigh([Draw(0, (0.01,))] * 100)
    assert (none.hits, none.more, none.interval, none.p) == (0, 0, (0, 0), 1)
    empty = weigh([])
    assert (empty.hits, empty.expected, empty.p) == (0, 0, 1)
    sure = weigh([Draw(1, (1.0,))] * 3)
    assert (sure.more, sure.interval[0], sure.p) == (0, 0, 1)
    raised = weigh([Draw(1, (0.1,))] * 2, scale=20)
    assert raised.p == 1


def generated(random: np.random.Generator, share: float) -> tuple[list[Draw], int]:
    """Jobs of a fleet whose hosts have events at very different rates, and how many are because of one."""
    chances = np.minimum(random.gamma(0.3, 0.1, 300), 0.9)  # a few bad hosts, many good ones
    because = random.random(300) < share
    hits = because | (random.random(300) < chances)
    return [Draw(int(hit), (float(c),)) for hit, c in zip(hits, chances, strict=True)], int(because.sum())


def _p(draws: list[Draw]) -> float:
    """As `weigh` has it, without its interval, which takes longer."""
    return probability_of_at_least(sum(draw.hits for draw in draws), (draw.chances for draw in draws))


def test_without_a_relation_alarms_are_as_rare_as_they_say() -> None:
    """p of a discrete number is at most uniform; at most so by as much as one more job changes it."""
    random = np.random.default_rng(11)
    p = np.array([_p(generated(random, 0.0)[0]) for _ in range(1000)])
    for level in (0.01, 0.05, 0.1, 0.25, 0.5):
        alarms = int((p <= level).sum())
        assert alarms <= stats.binom.ppf(0.995, 1000, level), level
    assert (p <= 0.05).mean() > 0.015  # and it does not simply keep silent
    assert (p <= 0.5).mean() > 0.38


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_planted_share_is_recovered(share: float) -> None:
    random = np.random.default_rng(12)
    inside, lengths = 0, []
    for _ in range(100):
        draws, because = generated(random, share)
        found = weigh(draws)
        low, high = found.interval
        inside += low <= because <= high
        lengths.append(high - low)
        assert found.p < 0.05
    assert inside >= 90
    assert np.mean(lengths) < 30  # of 300 jobs
