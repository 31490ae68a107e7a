"""Verdicts about rates: what is found, and how often chance is taken for it."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence

import pytest

from necroscope.model.verdict import Verdict
from necroscope.remedies.verify.compare_rates import compare_rates
from necroscope.remedies.verify.judge import expected
from necroscope.remedies.verify.quantities import (
    NIC_RESETS,
    SATURATED_CORE_SECONDS,
    UNIT_RESTARTS,
    ZOMBIE_GROWTH,
    Quantity,
)
from necroscope.remedies.verify.spans import Span, Spans
from necroscope.remedies.verify.time_needed import needed_seconds
from necroscope.statistics.gamma_poisson import Counted

BETTER, UNCHANGED, WORSE, INCONCLUSIVE = Verdict
DAY = 86400.0
TRIALS = 100

Make = Callable[[random.Random, int, float], Spans]


def spans(amounts: Sequence[float], seconds: float = 1.0) -> Spans:
    return Spans(tuple(Span(place, seconds, amount) for place, amount in enumerate(amounts)))


def poisson(chance: random.Random, mean: float) -> int:
    count, product, limit = 0, chance.random(), math.exp(-mean)
    while product > limit:
        count, product = count + 1, product * chance.random()
    return count


def steady(chance: random.Random, length: int, rate: float) -> Spans:
    return spans([poisson(chance, rate) for _ in range(length)])


def bursts(chance: random.Random, length: int, rate: float) -> Spans:
    """Each of a size of its own, 50 on average."""
    counts = [poisson(chance, rate / 50) for _ in range(length)]
    return spans([sum(chance.expovariate(1 / 50) for _ in range(count)) for count in counts])


def episodes(chance: random.Random, length: int, rate: float) -> Spans:
    """20 s of it, then 47 s of nothing, on average."""
    is_on, amounts = chance.random() < 0.3, []
    for _ in range(length):
        if chance.random() < (1 / 20 if is_on else 0.3 / 0.7 / 20):
            is_on = not is_on
        amounts.append(rate / 0.3 if is_on else 0.0)
    return spans(amounts)


def wandering(chance: random.Random, length: int, rate: float) -> Spans:
    """A number that also becomes less."""
    return spans([rate + chance.gauss(0, 5) for _ in range(length)])


def every_minute(chance: random.Random, length: int, rate: float) -> Spans:
    """Ten seconds of each minute, as a timer makes it; it begins anywhere in the minute."""
    begin = chance.randrange(60)
    return spans([6 * rate if (second + begin) % 60 < 10 else 0.0 for second in range(length)])


def timer(chance: random.Random, length: int, rate: float) -> Spans:
    """Four seconds of each 30, give or take three."""
    amounts, at = [0.0] * length, -chance.uniform(0, 30)
    while at < length:
        for second in range(max(int(at), 0), min(max(int(at) + 4, 0), length)):
            amounts[second] = rate * 30 / 4
        at += chance.uniform(27, 33)
    return spans(amounts)


def slow(chance: random.Random, length: int, rate: float) -> Spans:
    """A level that wanders within a minute, by a factor of e up and down."""
    level, keep, amounts = chance.gauss(0, 1), math.exp(-1 / 60), []
    for _ in range(length):
        level = level * keep + chance.gauss(0, math.sqrt(1 - keep**2))
        amounts.append(rate * math.exp(level - 0.5))
    return spans(amounts)


def shares(
    quantity: Quantity, make: Make, length: int, ratio: float, before: int = 0
) -> dict[Verdict, float]:
    """How often each verdict is given when a rate of 5 a second becomes so many times that."""
    chance = random.Random(f"{make.__name__} {length} {ratio}")
    found = Counter(
        compare_rates(
            quantity, make(chance, before or length, 5.0), make(chance, length, 5.0 * ratio)
        ).verdict
        for _ in range(TRIALS)
    )
    return {verdict: found[verdict] / TRIALS for verdict in Verdict}


@pytest.mark.parametrize(
    ("make", "before", "after"),
    [
        (every_minute, 30, 600),
        (every_minute, 600, 40),
        (timer, 600, 15),
        (slow, 30, 600),
        (slow, 600, 60),
        (episodes, 30, 600),
    ],
)
def test_windows_of_different_length_do_not_mislead(make: Make, before: int, after: int) -> None:
    found = shares(SATURATED_CORE_SECONDS, make, after, 1.0, before)
    assert found[BETTER] <= 0.06  # 5 %, of a hundred
    assert found[WORSE] <= 0.06


@pytest.mark.parametrize(("before", "after"), [(30, 600), (600, 120)])
def test_steady_trouble_that_ends_is_found_in_windows_of_different_length(before: int, after: int) -> None:
    assert shares(SATURATED_CORE_SECONDS, steady, after, 0.0, before)[BETTER] == 1
    assert shares(SATURATED_CORE_SECONDS, steady, after, 1.0, before)[UNCHANGED] > 0.9


def test_a_time_before_that_is_too_short_for_slow_trouble_is_called_so() -> None:
    """Half a minute that met a timer's ten seconds, and ten minutes that meet them every minute."""
    before = spans([0.0] * 10 + [30.0] * 10 + [0.0] * 10)
    outcome = compare_rates(SATURATED_CORE_SECONDS, before, every_minute(random.Random(1), 600, 2.0))
    assert (outcome.verdict, outcome.needed_seconds) == (INCONCLUSIVE, None)
    assert "the 30 s before are too short" in outcome.why


@pytest.mark.parametrize("make", [bursts, every_minute, slow])
def test_the_time_that_is_promised_shows_an_end(make: Make) -> None:
    chance = random.Random(make.__name__)
    for _ in range(10):
        before = make(chance, 600, 5.0)
        outcome = compare_rates(SATURATED_CORE_SECONDS, before, spans([0.0] * 20))
        if outcome.verdict is INCONCLUSIVE:
            assert outcome.needed_seconds is not None
            longer = spans([0.0] * (int(outcome.needed_seconds) + 1))
            assert compare_rates(SATURATED_CORE_SECONDS, before, longer).verdict is BETTER


def test_what_surely_did_not_halve_is_unchanged_though_it_may_have_doubled() -> None:
    uneven = [20.0, 40.0, 60.0] * 4
    outcome = compare_rates(ZOMBIE_GROWTH, spans(uneven), spans([60.0, 90.0, 30.0, 60.0] * 3))
    assert (outcome.verdict, outcome.why) == (UNCHANGED, "it is sure not to have halved")
    assert outcome.high is not None and outcome.high > 2


def test_what_rises_from_nothing_is_not_called_lower() -> None:
    outcome = compare_rates(SATURATED_CORE_SECONDS, spans([0.0] * 30), spans([0.0] * 30 + [90.0] * 3))
    assert (outcome.ratio, outcome.low, outcome.high) == (None, None, None)
    assert outcome.verdict is not UNCHANGED


@pytest.mark.parametrize(
    ("quantity", "make", "length"),
    [
        (SATURATED_CORE_SECONDS, steady, 30),
        (SATURATED_CORE_SECONDS, bursts, 30),
        (SATURATED_CORE_SECONDS, bursts, 600),
        (SATURATED_CORE_SECONDS, episodes, 600),
        (ZOMBIE_GROWTH, wandering, 30),
    ],
)
def test_chance_is_seldom_taken_for_a_change(quantity: Quantity, make: Make, length: int) -> None:
    found = shares(quantity, make, length, 1.0)
    assert found[BETTER] < 0.05
    assert found[WORSE] < 0.05


@pytest.mark.parametrize(
    ("quantity", "make", "length", "ratio", "least"),
    [
        (SATURATED_CORE_SECONDS, steady, 30, 0.5, 0.85),
        (SATURATED_CORE_SECONDS, steady, 30, 0.0, 1.0),
        (SATURATED_CORE_SECONDS, bursts, 600, 0.2, 0.85),
        (SATURATED_CORE_SECONDS, bursts, 600, 0.0, 0.99),
        (SATURATED_CORE_SECONDS, episodes, 600, 0.0, 0.85),
        (ZOMBIE_GROWTH, wandering, 120, 0.0, 0.95),
    ],
)
def test_a_true_change_is_found(
    quantity: Quantity, make: Make, length: int, ratio: float, least: float
) -> None:
    found = shares(quantity, make, length, ratio)
    assert found[BETTER] >= least
    assert found[WORSE] == 0


def test_what_stays_is_called_unchanged_when_that_is_sure() -> None:
    assert shares(SATURATED_CORE_SECONDS, steady, 30, 1.0)[UNCHANGED] > 0.9
    assert shares(SATURATED_CORE_SECONDS, bursts, 30, 1.0)[UNCHANGED] < 0.1


def test_what_doubles_is_worse() -> None:
    assert shares(SATURATED_CORE_SECONDS, steady, 30, 2.0)[WORSE] > 0.95


def test_a_regular_leak_that_ends_is_better_in_seconds() -> None:
    outcome = compare_rates(ZOMBIE_GROWTH, spans([40.0] * 12), spans([0.0] * 12))
    assert outcome.verdict is BETTER
    assert outcome.ratio == 0 and outcome.high is not None and outcome.high < 0.01


def test_too_short_a_window_says_how_long_it_must_be() -> None:
    outcome = compare_rates(ZOMBIE_GROWTH, spans([40.0] * 30), spans([0.0] * 3))
    assert (outcome.verdict, outcome.needed_seconds) == (INCONCLUSIVE, 8.0)


def test_the_time_that_is_needed_is_enough() -> None:
    """Seen for so long at the same rate, it can be told."""
    before = spans(([200.0] + [0.0] * 9) * 3)
    outcome = compare_rates(SATURATED_CORE_SECONDS, before, spans([0.0] * 10))
    assert outcome.verdict is INCONCLUSIVE and outcome.needed_seconds is not None
    longer = spans([0.0] * (int(outcome.needed_seconds) + 1))
    assert compare_rates(SATURATED_CORE_SECONDS, before, longer).verdict is BETTER


def test_a_time_before_that_is_too_short_cannot_be_made_up_for() -> None:
    outcome = compare_rates(ZOMBIE_GROWTH, spans([40.0] * 3), spans([0.0] * 600))
    assert (outcome.verdict, outcome.needed_seconds) == (INCONCLUSIVE, None)
    assert "too short" in outcome.why


@pytest.mark.parametrize("amount", [0.0, 0.005])
def test_what_was_not_troubled_is_unchanged(amount: float) -> None:
    outcome = compare_rates(SATURATED_CORE_SECONDS, spans([amount] * 30), spans([0.0] * 30))
    assert outcome.verdict is UNCHANGED
    assert "not troubled" in outcome.why


def test_what_was_not_recorded_is_not_judged() -> None:
    nothing = Spans((), "not permitted")
    before = compare_rates(ZOMBIE_GROWTH, nothing, spans([0.0] * 30))
    assert (before.verdict, before.why) == (INCONCLUSIVE, "before: not permitted")
    after = compare_rates(ZOMBIE_GROWTH, spans([40.0] * 30), nothing)
    assert (after.verdict, after.why) == (INCONCLUSIVE, "after: not permitted")
    assert after.needed_seconds == 8.0


def test_growth_that_turns_into_a_fall_is_better() -> None:
    outcome = compare_rates(ZOMBIE_GROWTH, spans([40.0] * 30), spans([-20.0] * 30))
    assert outcome.verdict is BETTER


def test_a_crash_loop_is_told_by_two_readings() -> None:
    """Units are read once a minute: a short recording has a first and a last reading."""
    ended = compare_rates(UNIT_RESTARTS, spans([15], 30.0), spans([0], 30.0))
    assert ended.verdict is BETTER
    assert compare_rates(UNIT_RESTARTS, spans([15], 30.0), spans([0], 3.0)).verdict is INCONCLUSIVE
    assert compare_rates(UNIT_RESTARTS, spans([60], 60.0), spans([62], 60.0)).verdict is UNCHANGED


@pytest.mark.parametrize(("per_day", "days"), [(0.1, 59.3), (0.5, 8.5), (1.0, 4.1), (2.0, 2.0)])
def test_the_days_without_a_reset_that_it_takes(per_day: float, days: float) -> None:
    """From two weeks before: what is printed before anything is changed."""
    before = Counted(14 * per_day, 14 * DAY, 1.0)
    needed = needed_seconds(NIC_RESETS, before, Counted(0.0, 1.0, 1.0))
    assert needed is not None
    assert needed / DAY == pytest.approx(days, rel=0.03)


def test_resets_that_come_in_groups_are_fewer_than_they_look() -> None:
    alone = spans([1, 0] * 28, DAY / 4)
    grouped = spans([7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] * 4, DAY / 4)
    assert alone.amount == grouped.amount
    one, other = expected(NIC_RESETS, alone), expected(NIC_RESETS, grouped)
    assert one is not None and one.events == 28
    assert other is not None and other.events < 10


def test_rare_resets_are_seldom_misjudged() -> None:
    chance = random.Random(11)

    def two_weeks(per_day: float) -> Spans:
        return spans([poisson(chance, per_day / 24) for _ in range(14 * 24)], 3600.0)

    same = Counter(compare_rates(NIC_RESETS, two_weeks(0.5), two_weeks(0.5)).verdict for _ in range(100))
    assert same[BETTER] + same[WORSE] < 5
    gone = Counter(compare_rates(NIC_RESETS, two_weeks(0.5), two_weeks(0.0)).verdict for _ in range(100))
    assert gone[BETTER] > 60
