from __future__ import annotations

from collections.abc import Callable
from typing import Any

from necroscope.cli.explain import all_ids
from necroscope.remedies.plan.disable_unit import DISABLE_UNIT
from necroscope.remedies.verify.quantities import ZOMBIE_GROWTH
from tests.cli.conftest import Run

Document = Callable[..., dict[str, Any]]


def test_every_id_has_a_page(document: Document) -> None:
    pages = document("explain", *all_ids(), exit_code=0)["pages"]
    assert [page["id"] for page in pages] == all_ids()
    assert all(len(page["text"]) > 30 for page in pages)


def test_a_finding_shows_its_thresholds_with_their_reasons(necroscope: Run) -> None:
    text = necroscope("explain", "core-saturated").stdout
    assert "core-saturated.kernel_ratio = 0.7 ratio: System, softirq" in " ".join(text.split())


def test_a_remedy_shows_its_whole_page_and_how_it_is_planned(document: Document) -> None:
    (page,) = document("explain", "disable-unit")["pages"]
    assert page["kinds"] == ["remedy"] and DISABLE_UNIT.doc in page["text"]
    assert page["text"].endswith("necroscope fix disable-unit UNIT")


def test_a_quantity_says_how_it_is_read_and_what_is_no_trouble(document: Document) -> None:
    (page,) = document("explain", "zombie-growth")["pages"]
    said = ("cgroups/h", "Read from memory-cgroups, every second", f"up to 60: {ZOMBIE_GROWTH.floor_why}")
    assert page["kinds"] == ["quantity"] and all(words in page["text"] for words in said)


def test_an_action_shows_what_stands_in_front_of_its_code(document: Document) -> None:
    (page,) = document("explain", "stop-unit")["pages"]
    assert page["kinds"] == ["action"] and "Value    all units to stop" in page["text"]


def test_one_name_of_two_things_shows_both(document: Document) -> None:
    (page,) = document("explain", "nic-reset")["pages"]
    assert page["kinds"] == ["finding", "event"]


def test_a_typing_error_gets_a_suggestion(necroscope: Run) -> None:
    done = necroscope("explain", "core-saturatd")
    assert done.returncode == 2
    assert "did you mean core-saturated" in done.stderr


def test_lists_name_everything(document: Document) -> None:
    body = document("list", exit_code=0)
    ids = {row["id"] for kind, rows in body.items() if kind not in ("schema", "verb", "ok") for row in rows}
    assert ids == set(all_ids())
    assert all({"value", "unit"} <= row.keys() for row in body["thresholds"])
    assert {"sources", "detectors", "remedies", "events", "actions", "quantities"} <= body.keys()


def test_lists_can_be_chosen(document: Document) -> None:
    assert document("list", "sources,events").keys() == {"schema", "verb", "ok", "sources", "events"}
