"""The nouns of the fleet as the page gets them; what JSON cannot say is null."""

from __future__ import annotations

import json
import math

from necroscope.model.drift import Association, Difference, Drift, FactByGroup, Relevance
from necroscope.model.fleet.concentration import Concentration, Exposed, Standing, Where
from necroscope.server.questions.fleet.verbs import drift_answer, where_answer
from necroscope.server.routes import encoded

FEW = Exposed(hosts=10, affected=3, episodes=4, host_hours=100.0)
NONE = Exposed(hosts=90, affected=0, episodes=0, host_hours=0.0)


def concentration(value: str, standing: Standing) -> Concentration:
    return Concentration(
        label="labels/zone",
        value=value,
        inside=FEW,
        outside=NONE,
        rate_ratio=math.inf,
        interval=(1.5, math.inf),
        p=0.01,
        q=None,
        standing=standing,
        ratio_among_alike=math.nan,
        interval_among_alike=(0.0, math.inf),
        follows=("labels/image",),
        cannot_tell_apart_from=(),
        sentence="it does",
    )


def test_what_is_infinite_is_left_open() -> None:
    where = Where(("nic-reset",), 0, 1, FEW, 1, (concentration("a", Standing.FOLLOWS),), 0, "")
    text = encoded(where_answer(where))
    assert b"Infinity" not in text and b"NaN" not in text
    (row,) = json.loads(text)["concentrations"]
    assert row["rate_ratio"] is None and row["interval"] == {"low": 1.5, "high": None}
    assert row["ratio_among_alike"] is None and row["interval_among_alike"] == {"low": 0.0, "high": None}
    assert row["standing"] == "follows" and row["follows"] == ["labels/image"]


def test_what_was_shown_is_never_left_out() -> None:
    many = [concentration(str(number), Standing.NOT_SHOWN) for number in range(500)]
    rows = (*many, concentration("telling", Standing.SPARED))
    answer = where_answer(Where(("nic-reset",), 0, 1, FEW, 501, rows, 0, ""))
    assert answer.concentrations[0].value == "telling"
    assert len(answer.concentrations) == 200 and answer.left_out == 301


def test_the_failing_hosts_come_first() -> None:
    lead = FactByGroup("kernel/release", {"healthy": {"6.1": 9, None: 1}, "failing": {"5.10": 3, "6.1": 1}})
    difference = Difference(
        lead=lead,
        summary="the kernel differs",
        relevance=Relevance.ASSOCIATED,
        matters=True,
        why="it goes along",
        reference="",
        association=Association(0.001, 0.01, 30.0, (2.0, math.inf), 0.4),
        p_among_alike=None,
        hosts={},
        together=(),
        same_split=(),
        cannot_tell_apart_from=("labels/image",),
        explained_by=(),
        because=None,
        cause_of=(),
    )
    groups = {"healthy": tuple("abcdefghij"), "failing": tuple("klmn")}
    answer = drift_answer(Drift(groups, "failing", 40, (difference,), (), ""))
    assert [(group.name, group.hosts) for group in answer.groups] == [("failing", 4), ("healthy", 10)]
    (row,) = answer.differences
    assert [(value.value, value.hosts) for value in row.values] == [
        ("6.1", [1, 9]),
        ("5.10", [3, 0]),
        (None, [0, 1]),
    ]
    assert row.interval is not None and row.interval.high is None
