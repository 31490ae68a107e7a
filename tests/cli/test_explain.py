from __future__ import annotations

from collections.abc import Callable
from typing import Any

from necroscope.cli.explain import all_ids
from tests.cli.conftest import Run

Document = Callable[..., dict[str, Any]]


def test_every_id_has_a_page(document: Document) -> None:
    pages = document("explain", *all_ids(), exit_code=0)["pages"]
    assert [page["id"] for page in pages] == all_ids()
    assert all(len(page["text"]) > 30 for page in pages)


def test_a_finding_shows_its_thresholds_with_their_reasons(necroscope: Run) -> None:
    text = necroscope("explain", "core-saturated").stdout
    assert "core-saturated.kernel_ratio = 0.7 ratio: System, softirq" in " ".join(text.split())


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
    assert {"sources", "detectors", "remedies", "events"} <= body.keys()


def test_lists_can_be_chosen(document: Document) -> None:
    assert document("list", "sources,events").keys() == {"schema", "verb", "ok", "sources", "events"}
