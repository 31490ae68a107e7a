from __future__ import annotations

import pytest

from necroscope.server.kept_answers import KeptAnswers


def test_an_answer_is_made_once_and_the_oldest_goes_first() -> None:
    made: list[int] = []

    def ask(kept: KeptAnswers[int], number: int) -> int:
        return kept.get(number, lambda: made.append(number) or number)  # type: ignore[func-returns-value]

    kept: KeptAnswers[int] = KeptAnswers(2)
    assert [ask(kept, number) for number in (1, 2, 1, 3, 1, 2)] == [1, 2, 1, 3, 1, 2]
    assert made == [1, 2, 3, 2]


def test_an_error_is_not_kept() -> None:
    kept: KeptAnswers[int] = KeptAnswers(2)
    with pytest.raises(ZeroDivisionError):
        kept.get("a", lambda: 1 // 0)
    assert kept.get("a", lambda: 5) == 5
