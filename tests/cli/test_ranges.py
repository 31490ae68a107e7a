"""Which stretch of time and which host verbs take, at the edges of what is recorded."""

from __future__ import annotations

import re
import time
from argparse import Namespace
from pathlib import Path

import pytest

from necroscope.cli.main import build_parser
from necroscope.cli.selecting import choose
from necroscope.errors import UsageError
from tests.cli.conftest import Document, Run
from tests.segments import BEGIN_NS
from tests.stored import OFFSET_NS, SECOND_NS, anchor_at, event_of, sealed_segment, seconds_of

MOMENTS = seconds_of(["idle"] * 20)
DAY_NS = 86400 * SECOND_NS


def of_parts(root: Path, shift_ns: int = 0, **more: str) -> Path:
    """20 s that begin and end within a second, with an event in each of the two parts."""
    anchor = anchor_at(BEGIN_NS, OFFSET_NS + 500_000_000 + shift_ns)
    events = [event_of("oom-kill", second, sequence=int(second)) for second in (0, 0.25, 10, 19.75, 20)]
    sealed_segment(root, MOMENTS, events, anchor=anchor, **more)
    return root


@pytest.mark.parametrize(
    "words", [(), ("-e", "2030-01-01", "-b", "2020-01-01"), ("-b", "+0s"), ("-b", "2026-04-15T10:00:00Z")]
)
@pytest.mark.parametrize("verb", ["events", "timeline"])
def test_events_of_the_first_and_last_part_of_a_second(
    document: Document, tmp_path: Path, verb: str, words: tuple[str, ...]
) -> None:
    body = document(verb, "--store", of_parts(tmp_path), *words)
    assert len(body["events"]) == 5
    if verb == "timeline":
        assert (body["begin"], body["columns"]) == ("2026-04-15T10:00:01.000Z", 19), "whole seconds only"


def test_an_end_that_is_given_is_not_in_the_range(document: Document, tmp_path: Path) -> None:
    words = ("-b", "2026-04-15T10:00:00.75Z", "-e", "2026-04-15T10:00:20.25Z")
    body = document("events", "--store", of_parts(tmp_path), *words)
    assert [event["time"][17:-1] for event in body["events"]] == ["00.750", "10.500"]


@pytest.mark.parametrize("verb", ["events", "timeline", "flame", "scope"])
@pytest.mark.parametrize(
    "words",
    [
        ("-b", "10m"),
        ("-b", "now"),
        ("-b", str(time.time_ns() // 10**6)),
        ("-e", "2020-01-01"),
        ("-b", "9999-01-01"),
        ("-b", "+999999999d"),
    ],
)
def test_a_range_beside_the_recording(
    necroscope: Run, tmp_path: Path, verb: str, words: tuple[str, ...]
) -> None:
    done = necroscope(verb, "--store", of_parts(tmp_path), *words)
    assert done.returncode == 3, done.stderr
    assert "the last recording ends at 2026-04-15T10:00:20.500Z" in done.stderr
    assert ("an epoch is in seconds" in done.stderr) == (len(words[1]) > 9 and words[0] == "-b")


@pytest.mark.parametrize("verb", ["events", "timeline", "flame", "scope"])
def test_two_times_in_the_wrong_order(necroscope: Run, tmp_path: Path, verb: str) -> None:
    done = necroscope(verb, "--store", of_parts(tmp_path), "-b", "+9s", "-e", "+3s")
    assert done.returncode == 2 and "ends before it begins" in done.stderr


@pytest.mark.parametrize("word", ["999999999d", "0002-01-01"])
def test_a_time_before_all_time_is_named(necroscope: Run, tmp_path: Path, word: str) -> None:
    done = necroscope("events", "--store", of_parts(tmp_path), "-b", word)
    assert done.returncode == 2 and f"'{word}' is too long ago" in done.stderr


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A segment that was kept, three years before the next."""
    of_parts(tmp_path, -3 * 365 * DAY_NS, boot_id="another")
    return of_parts(tmp_path)


def test_years_fit_the_screen(necroscope: Run, old: Path) -> None:
    done = necroscope("timeline", "--store", old, "-b", "+0s", env={"COLUMNS": "80"})
    assert done.returncode == 0 and max(map(len, done.stdout.splitlines())) <= 80
    rows = [line.split("|")[1] for line in done.stdout.splitlines() if "|" in line]
    assert rows == ["." + " " * (len(rows[0]) - 2) + "."]


def test_years_fit_a_document(document: Document, old: Path) -> None:
    body = document("timeline", "--store", old, "-b", "+0s")
    assert body["step_seconds"] == -(-(3 * 365 * 86400 + 20) // 86_400)
    assert 86_000 < body["columns"] <= 86_400


def test_a_step_that_needs_too_much_is_refused_with_one_that_works(
    necroscope: Run, document: Document, old: Path
) -> None:
    words = ("timeline", "--store", old, "-b", "+0s", "--step")
    done = necroscope(*words, "1s")
    assert done.returncode == 2
    (works,) = re.findall(r"--step (\d+s) works", done.stderr)
    assert document(*words, works)["columns"] * 2 <= 10_000_000, "two cores, by its description"
    assert necroscope(*words, f"{int(works[:-1]) - 1}s").returncode == 2
    assert document(*words, "999999999d")["columns"] == 1


def flame_words(*words: str | Path) -> Namespace:
    return build_parser(["flame"]).parse_args(["flame", *map(str, words)])


@pytest.fixture
def hosts(tmp_path: Path) -> Path:
    """Two hosts with the same times and event ids; the second has one of its own, and is newer."""
    of_parts(tmp_path)
    of_parts(tmp_path, host="node-18")
    later = anchor_at(BEGIN_NS, OFFSET_NS + 60 * SECOND_NS)
    sealed_segment(tmp_path, MOMENTS, [event_of("nic-reset", 3)], anchor=later, host="node-18")
    sealed_segment(tmp_path, MOMENTS, [event_of("nic-reset", 4)], anchor=anchor_at(BEGIN_NS), host="node-17")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "host"),
    [
        ((), "node-18"),
        (("-b", "+1s"), "node-18"),
        (("--around", "2026-04-15T10:00:05Z"), "node-18"),
        (("--host", "node-17"), "node-17"),
        (("--around", "nic-reset-20260415T100004.000Z-0"), "node-17"),
        (("--around", "oom-kill-20260415T100010.500Z-10", "--host", "node-17"), "node-17"),
    ],
)
def test_segments_are_of_one_host(hosts: Path, words: tuple[str, ...], host: str) -> None:
    segments, _, _ = choose(flame_words("--store", hosts, *words))
    assert len(segments) == 2
    assert {segment.host for segment in segments} == {host}


def test_an_id_that_two_hosts_have(hosts: Path) -> None:
    with pytest.raises(UsageError, match="node-17, node-18 have an event") as caught:
        choose(flame_words("--store", hosts, "--around", "oom-kill-20260415T100010.500Z-10"))
    assert "--host" in caught.value.hint
