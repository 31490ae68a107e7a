"""Facts as the fleet keeps them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from necroscope.fleet.place.canonical import canonical
from necroscope.fleet.ship.facts import facts_of, take_facts
from necroscope.model.snapshot import Snapshot
from necroscope.model.timestamp import hour_of
from necroscope.sources.host import Host

HOSTS = Path(__file__).parents[2] / "hosts"


def test_names_are_made_of_the_content() -> None:
    facts = facts_of({"kernel": {"release": "6.1", "name": "Ü"}, "labels": {"zone": "a"}}, 5)
    for section, digest in facts.sections.items():
        content = facts.blobs[digest]
        assert hashlib.sha256(content).hexdigest() == digest
        assert json.loads(content)["section"] == section
    assert facts.id == hashlib.sha256(canonical(dict(facts.sections))).hexdigest()
    assert b"\xc3\x9c" in facts.blobs[facts.sections["kernel"]], "UTF-8, not escapes"


def test_the_order_of_facts_and_the_time_do_not_matter() -> None:
    one = facts_of({"a": {"x": "1", "y": "2"}, "b": {"z": "3"}}, 5)
    other = facts_of({"b": {"z": "3"}, "a": {"y": "2", "x": "1"}}, 6)
    assert (one.id, one.blobs) == (other.id, other.blobs)
    assert facts_of({"a": {"x": "1", "y": "3"}, "b": {"z": "3"}}, 5).sections["b"] == one.sections["b"]


def test_a_recorded_host(tmp_path: Path) -> None:
    host = next(path for path in sorted(HOSTS.iterdir()) if path.is_dir())
    facts = take_facts(Host(host), 7)
    assert facts
    assert facts.time_us == 7
    assert "kernel" in facts.sections
    assert take_facts(Host(tmp_path), 7) is None or not take_facts(Host(tmp_path), 7).sections.get("kernel")  # type: ignore[union-attr]


def test_hours() -> None:
    assert hour_of(1_776_247_200 * 10**6) == "20260415T10"
    assert hour_of(1_776_247_200 * 10**6 - 1) == "20260415T09"


def test_what_was_not_read_is_said_without_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    snapshot = Snapshot("node", {"labels": {"pool": "x"}, "cpu": {}}, {"labels": "timed out 7", "cpu": "no"})
    monkeypatch.setattr("necroscope.inventory.snapshot.take_snapshot", lambda _: snapshot)
    facts = take_facts(Host(tmp_path), 7)
    assert facts
    assert json.loads(facts.blobs[facts.sections["not_read"]])["facts"] == {
        "cpu": "not read",
        "labels": "read in part",
    }
