"""A plan as a document: what `fix --json` prints, what people review, and what `fix --plan FILE` reads.

Nothing in a file is believed: before a plan is carried out, it is made again on the host (make_plan.py).
Reading is strict all the same, so that a slip in a file that was edited is named and not passed over.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any, NoReturn, get_args, get_origin, get_type_hints

from necroscope.errors import PlanError
from necroscope.model.plan import Plan
from necroscope.remedies.plan.catalog import ALL_REMEDIES
from necroscope.remedies.plan.goals import why_not_goal
from necroscope.sources.plain_files import read_named

SCHEMA = 1
KIND = "necroscope-plan"
LARGEST_FILE_BYTES = 4 << 20
LONGEST_TEXT = 256 << 10  # the text of a drop-in has some hundred characters
LONGEST_LIST = 10_000
HINT = "`necroscope fix ... -o FILE` makes one"


def plan_document(plan: Plan) -> dict[str, Any]:
    """The plan as a file has it."""
    return {"schema": SCHEMA, "kind": KIND, **asdict(plan)}


def plan_text(plan: Plan) -> str:
    """The text of a plan's file."""
    return json.dumps(plan_document(plan), indent=1) + "\n"


def read_plan(path: Path) -> Plan:
    """The plan in a file: alone, or in all that `fix --json` printed. Raises PlanError."""
    try:
        data = read_named(path, LARGEST_FILE_BYTES)
    except OSError as error:
        raise PlanError(
            f"{path}: {error.strerror}", hint=f"{HINT}; /dev/stdin reads what is piped in"
        ) from error
    try:
        return parse_plan(data)
    except PlanError as error:
        raise PlanError(f"{path}: {error.what}", hint=error.hint) from error


def parse_plan(data: bytes) -> Plan:
    """The plan in the text of a file. Raises PlanError, which names the field."""
    try:
        document = json.loads(data, object_pairs_hook=_unique_names)
    except (ValueError, RecursionError) as error:
        raise PlanError(f"not a plan: {error}", hint=HINT) from error
    if isinstance(document, dict) and isinstance(document.get("plan"), dict):
        document = document["plan"]  # what --json prints
    if not isinstance(document, dict) or document.get("kind") != KIND:
        raise PlanError("not a plan", hint=HINT)
    if document.get("schema") != SCHEMA:
        what = f"a plan of version {document.get('schema')}, and this program reads {SCHEMA}"
        raise PlanError(what, hint=HINT)
    fields = {name: value for name, value in document.items() if name not in ("schema", "kind")}
    plan: Plan = _noun(Plan, fields, "")
    for place, treatment in enumerate(plan.treatments):
        if treatment.remedy not in ALL_REMEDIES:
            _refuse(f"treatments[{place}].remedy", f"there is no remedy '{treatment.remedy[:80]}'")
    for place, goal in enumerate(plan.goals):
        if why := why_not_goal(goal, plan.treatments):
            _refuse(f"goals[{place}]", why)
    return plan


def _unique_names(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose names are all different: of two, a reader may have seen the other one."""
    document = dict(pairs)
    if len(document) < len(pairs):
        raise ValueError("a name stands twice in an object")
    return document


def _value(type_: Any, value: Any, where: str) -> Any:
    """A value of the type that a noun wants in this place."""
    if is_dataclass(type_):
        return _noun(type_, value, f"{where}.")
    if get_origin(type_) is tuple:
        if not isinstance(value, list) or len(value) > LONGEST_LIST:
            _refuse(where, f"not a list of at most {LONGEST_LIST}")
        return tuple(_value(get_args(type_)[0], one, f"{where}[{place}]") for place, one in enumerate(value))
    if not isinstance(value, type_):
        _refuse(where, "not a text" if type_ is str else "neither true nor false")
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        _refuse(where, f"longer than {LONGEST_TEXT} characters")
    return value


def _noun(type_: Any, value: Any, prefix: str) -> Any:
    """A dataclass from an object that has all of its fields and no other."""
    hints = get_type_hints(type_)
    if not isinstance(value, dict):
        _refuse(prefix.rstrip("."), "not an object")
    if unknown := sorted(value.keys() - hints.keys()):
        _refuse(f"{prefix}{unknown[0][:80]}", "a plan has no such field")
    if missing := [name for name in hints if name not in value]:
        _refuse(f"{prefix}{missing[0]}", "missing")
    return type_(**{name: _value(hint, value[name], f"{prefix}{name}") for name, hint in hints.items()})


def _refuse(field: str, why: str) -> NoReturn:
    raise PlanError(f"{field}: {why}", hint=HINT)
