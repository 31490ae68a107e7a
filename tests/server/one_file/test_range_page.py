from __future__ import annotations

import json
from pathlib import Path

import pytest

from necroscope.errors import NothingRecordedError
from necroscope.model.timestamp import SECOND_US
from necroscope.server.one_file import page_file
from necroscope.server.one_file.answer_key import culprit_key, diagnosis_key, flame_key, scope_key
from necroscope.server.one_file.range_page import range_page
from necroscope.server.questions.selection import Filters, Range, Tree
from tests.server.one_file.built_page import built_page, embedded
from tests.server.questions.sampled_store import BEGIN_US, RESET, sampled_store, seconds
from tests.stored import HOST


@pytest.fixture(autouse=True)
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_file, "STATIC", built_page(tmp_path / "static"))


def test_a_click_on_an_event_finds_its_answers(tmp_path: Path) -> None:
    made = range_page(sampled_store(tmp_path / "store"), seconds(0, 90))
    answers = embedded(made.content)
    core, before = Filters(cpus=(0,)), seconds(RESET - 5, RESET)
    flame = answers[flame_key(before, core, Tree(against="quiet"))]
    assert flame["baseline"]["samples"] and "kubelet" in {label["name"] for label in flame["labels"]}
    assert answers[flame_key(before, core, Tree())]["baseline"] is None
    assert answers[culprit_key(before, core)]["culprit"]["process"] == "kubelet"
    for shown in (seconds(RESET - 30, RESET + 30), seconds(RESET - 45, RESET + 15)):
        for filters in (core, Filters()):
            key = scope_key(shown, filters, 50)
            assert key in answers, "overview/moment_links.ts and moment/spans.ts ask for these"


def test_it_has_the_overview_of_its_range_and_of_its_host_alone(tmp_path: Path) -> None:
    span = Range(HOST, BEGIN_US + 1, BEGIN_US + 90 * SECOND_US - 1)
    answers = embedded(range_page(sampled_store(tmp_path / "store"), span).content)
    (host,) = answers['["hosts"]']["hosts"]
    assert (host["name"], host["is_live"]) == (HOST, False)
    assert host["begin_us"] >= BEGIN_US and host["end_us"] <= BEGIN_US + 90 * SECOND_US
    assert [event["kind"] for event in answers['["events"]']["events"]] == ["nic-reset"]
    assert diagnosis_key(seconds(0, 90)) in answers, "in whole seconds, as the page asks"
    assert {'["zombies"]', f'["cores",{BEGIN_US},{BEGIN_US + 90 * SECOND_US}]'} <= answers.keys()


def test_it_says_what_was_left_out(tmp_path: Path) -> None:
    made = range_page(sampled_store(tmp_path / "store"), seconds(0, 90))
    assert any("samples of other seconds" in words for words in made.left_out)
    assert not any("of 1 events" in words for words in made.left_out)


def test_without_room_the_samples_go_first_and_it_says_so(tmp_path: Path) -> None:
    page = range_page(sampled_store(tmp_path / "store"), seconds(0, 90), room_bytes=900)
    answers = embedded(page.content)
    assert '["events"]' in answers and not any(key.startswith('["flame"') for key in answers)
    assert "samples around 1 of 1 events" in page.left_out


def test_an_unknown_host_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NothingRecordedError):
        range_page(sampled_store(tmp_path / "store"), Range("../etc", 1, 2))


def test_before_anything_is_chosen_the_moment_is_there_too(tmp_path: Path) -> None:
    answers = embedded(range_page(sampled_store(tmp_path / "store"), seconds(0, 90)).content)
    assert scope_key(seconds(0, 90), Filters(), 50) in answers
    assert flame_key(seconds(0, 90), Filters(), Tree()) in answers


def test_no_finer_seconds_of_cores_reach_farther_than_the_whole(tmp_path: Path) -> None:
    answers = embedded(range_page(sampled_store(tmp_path / "store"), seconds(20, 60)).content)
    ranges = [json.loads(key)[1:] for key in answers if key.startswith('["cores"')]
    assert all(
        begin >= BEGIN_US + 20 * SECOND_US and end <= BEGIN_US + 60 * SECOND_US for begin, end in ranges
    )
