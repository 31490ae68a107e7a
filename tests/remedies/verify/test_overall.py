"""One verdict out of many."""

from __future__ import annotations

from dataclasses import replace

import pytest

from necroscope.model.verdict import Comparison, Measure, Verdict
from necroscope.remedies.verify.overall import overall

BETTER, UNCHANGED, WORSE, INCONCLUSIVE = Verdict
AGENT = "ecs.service"


def row(
    quantity: str,
    verdict: Verdict,
    *,
    before: float = 1e6,
    subject: str = "",
    needed: float | None = None,
    is_goal: bool = True,
    lower_with: float | None = None,
) -> Comparison:
    measure, after = Measure(before, 60, None), Measure(1e6, 60, None)
    ratio = None, None, None, lower_with
    return Comparison(quantity, subject, "", is_goal, measure, after, *ratio, verdict, needed, "because")


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ((BETTER, BETTER, BETTER), BETTER),
        ((BETTER, INCONCLUSIVE, BETTER), BETTER),
        ((INCONCLUSIVE, BETTER, INCONCLUSIVE), BETTER),
        ((BETTER, UNCHANGED, BETTER), BETTER),
        ((UNCHANGED, BETTER, BETTER), UNCHANGED),
        ((INCONCLUSIVE, BETTER, UNCHANGED), INCONCLUSIVE),
        ((INCONCLUSIVE, UNCHANGED, UNCHANGED), UNCHANGED),
        ((INCONCLUSIVE, INCONCLUSIVE, INCONCLUSIVE), INCONCLUSIVE),
        ((BETTER, BETTER, WORSE), WORSE),
        ((UNCHANGED, INCONCLUSIVE, WORSE), WORSE),
    ],
)
def test_the_goals_decide_and_the_first_of_them_where_they_differ(
    verdicts: tuple[Verdict, ...], expected: Verdict
) -> None:
    names = ("nic-resets", "saturated-core-seconds", "zombie-growth")
    rows = [row(name, verdict) for name, verdict in zip(names, verdicts, strict=True)]
    assert overall(rows, ()).verdict is expected


def test_what_users_feel_counts_without_being_a_goal() -> None:
    purged = row("zombies", BETTER)
    resets = row("nic-resets", WORSE, before=0.0, is_goal=False, lower_with=0.001)
    said = overall([purged, resets], ())
    assert said.verdict is WORSE
    assert said.summary == "it made things worse: nic-resets got worse; zombies got better"


def test_what_is_no_goal_must_be_surely_worse_and_felt_to_decide() -> None:
    hardly = row("throttling", WORSE, is_goal=False, lower_with=0.02)
    said = overall([row("zombie-growth", BETTER), hardly], ())
    assert said.verdict is BETTER
    assert said.summary == "it helped: zombie-growth got better; but throttling got worse"
    more = row("zombies", WORSE, is_goal=False)
    assert overall([row("nic-resets", BETTER), more], ()).verdict is BETTER


def test_without_goals_what_got_worse_from_nothing_counts() -> None:
    full = row("saturated-core-seconds", WORSE, before=0.0, is_goal=False)
    assert overall([full, row("zombies", UNCHANGED, before=5.0, is_goal=False)], ()).verdict is WORSE


def test_time_that_cannot_count_any_more_is_not_asked_for() -> None:
    taken_back = "it was taken back after 21 s"
    zombies = replace(row("zombies", INCONCLUSIVE), why=f"it may be chance; {taken_back}")
    said = overall([zombies], (), taken_back)
    assert said.summary == "it cannot be told: it was taken back after 21 s, too soon for zombies"


def test_the_treated_units_own_restarts_count_only_alone() -> None:
    restarts = row("unit-restarts", BETTER, subject=AGENT)
    growth = row("zombie-growth", UNCHANGED)
    assert overall([restarts, growth], (AGENT,)).verdict is UNCHANGED
    assert overall([restarts], (AGENT,)).verdict is BETTER
    assert overall([restarts, growth], ("other.service",)).verdict is BETTER


def test_goals_that_were_not_troubled_say_nothing() -> None:
    quiet = replace(row("zombie-growth", UNCHANGED, before=0.0), after=Measure(0.0, 60, None))
    assert overall([quiet, row("zombies", BETTER)], ()).verdict is BETTER
    said = overall([quiet], ())
    assert (said.verdict, said.needed_seconds) == (INCONCLUSIVE, None)


def test_the_sentence_names_all_and_the_time_that_is_missing() -> None:
    rows = [
        row("zombie-growth", BETTER),
        row("zombies", BETTER),
        row("saturated-core-seconds", UNCHANGED),
        row("nic-resets", INCONCLUSIVE, needed=8.5 * 86400),
        row("reclaim", INCONCLUSIVE),
    ]
    assert overall(rows, ()).summary == (
        "it helped: zombie-growth and zombies got better; saturated-core-seconds did not move;"
        " it takes a window of at least 8.5 days for nic-resets; no window would do for reclaim"
    )


def test_what_cannot_be_told_yet_says_when_it_can() -> None:
    said = overall(
        [row("nic-resets", INCONCLUSIVE, needed=7200.0), row("reclaim", INCONCLUSIVE, needed=40.0)], ()
    )
    assert (said.verdict, said.needed_seconds) == (INCONCLUSIVE, 40.0)
