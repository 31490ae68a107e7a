from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from necroscope.errors import StoreError
from necroscope.model.labels import Label, Labels
from necroscope.store.store import DESCRIPTION, Store, read_segment
from tests.stored import sealed_segment, seconds_of

ODD: list[tuple[str, dict[str, Any]]] = [
    ("no file", {"files": [None]}),
    ("a file without a name", {"files": [{}]}),
    ("no profile", {"profile": [None]}),
    ("a command of numbers", {"profile": {"command": [1]}}),
    ("a number in words", {"profile": {"lost_samples": "many"}}),
    ("beyond 64 bits", {"end_ns": 2**63 + 5}),
    ("before all time", {"begin_ns": -(2**63)}),
    ("half a second", {"begin_ns": 1.5}),
    ("truth for a time", {"end_ns": True}),
    ("cores in words", {"host": {"hostname": "n", "cores_online": "many"}}),
    ("a nameless host", {"host": {"hostname": None}}),
    ("half a character", {"host": {"hostname": "\ud800"}}),
    ("a kernel of parts", {"host": {"hostname": "n", "kernel": [6, 1]}}),
    ("labels by name", {"host": {"hostname": "n", "others": {"rack": "b17"}}}),
    ("a label without a value", {"host": {"hostname": "n", "others": [{"name": "rack"}]}}),
    ("a label that is a number", {"host": {"hostname": "n", "others": [{"name": "rack", "value": 7}]}}),
    ("no clock", {"clock": None}),
    ("a clock that was right, and no more", {"clock": {"offset_ns": 0, "synchronised": True}}),
    ("events as a list", {"events": ["nic-reset"]}),
    ("no source", {"sources": {"cores": None}}),
    ("a source without numbers", {"sources": {"cores": {"readings": "1", "absent": 0, "reason": ""}}}),
]


@pytest.mark.parametrize("change", [change for _, change in ODD], ids=[name for name, _ in ODD])
def test_an_odd_description_is_damage(tmp_path: Path, change: dict[str, Any]) -> None:
    segment = sealed_segment(tmp_path, seconds_of(["idle"] * 2))
    path = segment.folder / DESCRIPTION
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(StoreError, match=DESCRIPTION):
        read_segment(segment.folder)
    store = Store(tmp_path)
    assert store.segments() == []
    assert [damage.folder for damage in store.damaged] == [segment.folder]


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"schema":1,"host":' + "[" * 100_000, "", "null", "7", '{"schema": 1}', "\x00"]
)
def test_what_is_no_description_is_damage(tmp_path: Path, text: str) -> None:
    segment = sealed_segment(tmp_path, seconds_of(["idle"] * 2))
    (segment.folder / DESCRIPTION).write_text(text)
    with pytest.raises(StoreError, match=DESCRIPTION):
        read_segment(segment.folder)


def test_a_number_that_is_not_finite_is_damage(tmp_path: Path) -> None:
    segment = sealed_segment(tmp_path, seconds_of(["idle"] * 2))
    path = segment.folder / DESCRIPTION
    document = {**json.loads(path.read_text()), "begin_ns": float("inf")}
    path.write_text(json.dumps(document))
    with pytest.raises(StoreError, match=DESCRIPTION):
        read_segment(segment.folder)


def test_labels_of_any_name_and_those_of_older_recordings(tmp_path: Path) -> None:
    segment = sealed_segment(tmp_path, seconds_of(["idle"] * 2))
    path = segment.folder / DESCRIPTION
    document = json.loads(path.read_text())
    labels = Labels("n", zone="b", address="10.0.0.7", others=(Label("rack", "b17"),))
    path.write_text(json.dumps({**document, "host": asdict(labels)}))
    assert read_segment(segment.folder).description.host == labels
    older = {name: value for name, value in asdict(labels).items() if name not in ("address", "others")}
    path.write_text(json.dumps({**document, "host": {**older, "of_a_newer_version": [1]}}))
    assert read_segment(segment.folder).description.host == Labels("n", zone="b")
