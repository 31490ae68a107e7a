from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from necroscope.errors import NoSamplesError
from necroscope.server.one_file import page_file
from necroscope.server.one_file.answer_key import culprit_key, flame_key, scope_key
from necroscope.server.one_file.moment_page import moment_page
from necroscope.server.range_and_filters import Filters, Tree
from tests.server.one_file.built_page import built_page, embedded
from tests.server.questions.sampled_store import RESET, sampled_store, seconds
from tests.stored import HOST

CHOSEN = seconds(RESET - 4.5, RESET - 0.5)
FILTERS = Filters(cpus=(0,), processes=("kubelet", "a&b"), search="memcg", only_matching=True)
TREE = Tree(by="thread", inverted=True, against="quiet")


@pytest.fixture(autouse=True)
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_file, "STATIC", built_page(tmp_path / "static"))


def test_it_holds_what_was_saved_and_opens_with_it(tmp_path: Path) -> None:
    content = moment_page(sampled_store(tmp_path / "store"), CHOSEN, FILTERS, TREE)
    answers = embedded(content)
    assert answers[flame_key(CHOSEN, FILTERS, TREE)]["samples"] == 120
    assert culprit_key(CHOSEN, FILTERS) in answers
    start = re.search(rb'data-start="([^"]+)"', content)
    assert start
    view, _, query = unescape(start[1].decode()).partition("?")
    words = parse_qs(query)
    assert view == "#moment" and words["host"] == [HOST] and words["process"] == ["kubelet", "a&b"]
    assert (words["cpu"], words["b"], words["by"], words["inverted"], words["only"]) == (
        ["0"],
        ["quiet"],
        ["thread"],
        ["1"],
        ["1"],
    )
    assert words["a"] == [f"{CHOSEN.begin_us}..{CHOSEN.end_us}"]
    shown = type(CHOSEN)(HOST, int(words["begin"][0]), int(words["end"][0]))
    assert scope_key(shown, FILTERS, 50) in answers, "what it opens with is in it"


def test_nothing_to_save_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NoSamplesError):
        moment_page(sampled_store(tmp_path / "store"), seconds(5000, 5010), Filters(), Tree())
