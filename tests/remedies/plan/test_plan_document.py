from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from necroscope.errors import PlanError
from necroscope.model.plan import Plan
from necroscope.remedies.plan import plan_document as module
from necroscope.remedies.plan.catalog import ALL_REMEDIES
from necroscope.remedies.plan.plan_document import parse_plan, plan_document, plan_text, read_plan
from necroscope.remedies.verify.quantities import OF_UNITS, QUANTITIES

TEXTS = ["", "ecs.service", "a\nb\t\x1b[31m", "über ☃ \U0001f9df", '"\\', "\udcff not UTF-8", "x" * 5000]


def random_value(type_: Any, chance: random.Random) -> Any:
    if is_dataclass(type_):
        noun: Any = type_
        return noun(**{name: random_value(hint, chance) for name, hint in get_type_hints(type_).items()})
    if get_origin(type_) is tuple:
        return tuple(random_value(get_args(type_)[0], chance) for _ in range(chance.randrange(4)))
    return chance.random() < 0.5 if type_ is bool else chance.choice(TEXTS)


def random_plan(chance: random.Random) -> Plan:
    plan: Plan = random_value(Plan, chance)
    for treatment in plan.treatments:
        object.__setattr__(treatment, "remedy", chance.choice([*ALL_REMEDIES]))
    for goal in plan.goals:
        object.__setattr__(goal, "quantity", chance.choice([*QUANTITIES.keys() - OF_UNITS]))
        object.__setattr__(goal, "subject", "")
    return plan


DICE = random.Random(0)
PLANS = (random_plan(DICE) for _ in range(1000))
PLAN = next(plan for plan in PLANS if plan.steps and plan.treatments and plan.goals)


@given(st.randoms(use_true_random=False))
@settings(max_examples=200)
def test_what_is_written_is_read_again(chance: random.Random) -> None:
    plan = random_plan(chance)
    assert parse_plan(plan_text(plan).encode()) == plan


def test_all_that_json_prints_is_a_plan_too(tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    path.write_text(json.dumps({"schema": 1, "verb": "fix", "ok": True, "plan": plan_document(PLAN)}))
    assert read_plan(path) == PLAN


def removed(name: str) -> Callable[[dict[str, Any]], None]:
    return lambda document: document.pop(name)


def set_to(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(document: Any) -> None:
        *parts, last = path.split(".")
        for part in parts:
            document = document[int(part) if part.isdigit() else part]
        document[int(last) if last.isdigit() else last] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (removed("steps"), "steps: missing"),
        (set_to("root", 7), "root: not a text"),
        (set_to("root", None), "root: not a text"),
        (set_to("is_image", "no"), "is_image: neither true nor false"),
        (set_to("is_image", 1), "is_image: neither true nor false"),
        (set_to("steps", {}), "steps: not a list"),
        (set_to("reasons", "because"), "reasons: not a list"),
        (set_to("steps.0", "reboot"), "steps[0]: not an object"),
        (set_to("steps.0.target", ["a"]), "steps[0].target: not a text"),
        (set_to("steps.0.shell", "true"), "steps[0].shell: a plan has no such field"),
        (set_to("extra", 1), "extra: a plan has no such field"),
        (set_to("treatments.0.remedy", "rm"), "treatments[0].remedy: there is no remedy 'rm'"),
        (set_to("schema", 2), "version 2, and this program reads 1"),
        (set_to("kind", "necroscope-snapshot"), "not a plan"),
        (set_to("reasons", ["x" * (module.LONGEST_TEXT + 1)]), "reasons[0]: longer than"),
        (set_to("reasons", [""] * (module.LONGEST_LIST + 1)), "reasons: not a list of at most"),
    ],
)
def test_what_is_no_plan_is_refused_by_the_name_of_the_field(
    change: Callable[[dict[str, Any]], None], message: str
) -> None:
    document = json.loads(plan_text(PLAN))
    change(document)
    with pytest.raises(PlanError) as caught:
        parse_plan(json.dumps(document).encode())
    assert message in caught.value.what and caught.value.hint


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"null", b"{", b"\xff\xfe", b"[" * 100_000, b'{"plan": []}', b'{"a": 1, "a": 2}']
)
def test_what_is_not_even_near_is_refused(data: bytes) -> None:
    with pytest.raises(PlanError):
        parse_plan(data)


def test_of_two_fields_of_one_name_none_is_chosen() -> None:
    text = plan_text(PLAN).replace('"root"', '"root": "/elsewhere", "root"', 1)
    with pytest.raises(PlanError, match="twice"):
        parse_plan(text.encode())


def test_a_file_that_cannot_be_read_or_is_too_large_is_named(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"nowhere\.json: No such file"):
        read_plan(tmp_path / "nowhere.json")
    (tmp_path / "large.json").write_bytes(b" " * (module.LARGEST_FILE_BYTES + 1))
    with pytest.raises(PlanError, match=r"large\.json: larger than"):
        read_plan(tmp_path / "large.json")
