"""A value or a reason, never both and never neither."""

from __future__ import annotations

import dataclasses

import pytest

from necroscope.model.reading import Absence, Reading


def test_a_value_is_parsed_and_keeps_where_it_came_from() -> None:
    text = Reading("12\n", detail="/proc/x")
    assert text.parsed(int) == Reading(12, detail="/proc/x")
    assert text.parsed(int).reason == ""


@pytest.mark.parametrize(
    ("error", "detail"),
    [
        (ValueError("cut off"), "/proc/x: cut off"),
        (IndexError("list index out of range"), "/proc/x: list index out of range"),
        (KeyError("pgscan"), "/proc/x: no 'pgscan'"),
    ],
)
def test_what_cannot_be_understood_is_broken_and_names_the_file(error: Exception, detail: str) -> None:
    def parse(_: int) -> int:
        raise error

    # A second parser in a row: the file must still be known.
    reading = Reading("12\n", detail="/proc/x").parsed(int).parsed(parse)
    assert reading == Reading(absence=Absence.BROKEN, detail=detail)
    assert reading.reason == f"unreadable: {detail}"


def test_a_parser_with_a_defect_of_its_own_is_not_hidden() -> None:
    def parse(_: str) -> int:
        raise TypeError

    with pytest.raises(TypeError):
        Reading("12\n").parsed(parse)


def test_an_absence_is_passed_on_and_nothing_is_parsed() -> None:
    refused: Reading[str] = Reading(absence=Absence.NOT_PERMITTED, detail="/proc/x: Permission denied")
    assert refused.without_value() == refused
    parsed: Reading[object] = Reading(absence=refused.absence, detail=refused.detail)
    assert refused.parsed(int) == parsed
    assert refused.reason == "not permitted: /proc/x: Permission denied"
    nameless: Reading[str] = Reading(absence=Absence.SWITCHED_OFF)
    assert nameless.reason == "switched off"


@pytest.mark.parametrize("nothing", [0, "", (), False])
def test_a_value_that_is_nothing_is_still_a_value(nothing: object) -> None:
    assert Reading("x").parsed(lambda _: nothing).absence is None
    assert Reading(nothing).parsed(lambda value: [value]).value == [nothing]


def test_without_a_name_the_error_stands_alone() -> None:
    assert Reading("x").parsed(int).detail == "invalid literal for int() with base 10: 'x'"


def test_a_reading_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Reading(1).value = 2  # type: ignore[misc]
