from __future__ import annotations

import gzip
import json
import re
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs
from xml.etree import ElementTree

import pytest

from necroscope.errors import NoSamplesError
from necroscope.server.export import ask_export, file_name, moment_page
from necroscope.server.one_file import page_file
from necroscope.server.one_file.answer_key import culprit_key, flame_key, scope_key
from necroscope.server.questions.selection import Filters, Range, Tree
from tests.server.one_file.built_page import built_page, embedded
from tests.server.questions.sampled_store import RESET, sampled_store, seconds
from tests.stored import HOST

BEFORE = seconds(RESET - 5, RESET)
CORE = Filters(cpus=(0,))
CHOSEN = seconds(RESET - 4.5, RESET - 0.5)
FILTERS = Filters(cpus=(0,), processes=("kubelet", "a&b"), search="memcg", only_matching=True)
TREE = Tree(by="thread", inverted=True, against="quiet")


def test_the_formats_of_other_programs(tmp_path: Path) -> None:
    store = sampled_store(tmp_path)
    folded = ask_export(store, BEFORE, CORE, Tree(), "folded")
    assert (
        b"kubelet;main;do_syscall_64;seq_read;memcg_numa_stat_show;mem_cgroup_nr_lru_pages 150"
        in folded.content
    )
    svg = ask_export(store, BEFORE, CORE, Tree(against="quiet"), "svg")
    assert "orange: more here" in "".join(ElementTree.fromstring(svg.content).itertext())
    assert svg.name == "node-17-20260415T100035Z-5s-core-0-difference.svg"
    assert json.loads(ask_export(store, BEFORE, CORE, Tree(), "speedscope.json").content)["profiles"]
    assert b"kubelet" in gzip.decompress(ask_export(store, BEFORE, CORE, Tree(), "pb.gz").content)


def test_nothing_to_export_is_an_error(tmp_path: Path) -> None:
    store = sampled_store(tmp_path)
    for format in ("svg", "html"):
        with pytest.raises(NoSamplesError):
            ask_export(store, seconds(5000, 5010), CORE, Tree(), format)


@pytest.mark.parametrize("host", ["web-1", '../../x"\r\nSet-Cookie: a', "wéb\u202e", "." * 300, "x" * 255])
def test_a_name_that_every_file_system_takes(host: str) -> None:
    name = file_name(Range(host, 10**15, 10**15 + 1), Filters(cpus=tuple(range(99))), Tree(), "pb.gz")
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{5,150}", name) and name.endswith(".pb.gz")


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
