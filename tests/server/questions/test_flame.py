from __future__ import annotations

from array import array
from base64 import b64decode
from pathlib import Path

import pytest

from necroscope.cli.main import main
from necroscope.errors import NoSamplesError, UsageError
from necroscope.server.questions.flame import Flame, ask_flame
from necroscope.server.questions.selection import Filters, Tree
from tests.diagnosis.sampled_seconds import HERTZ
from tests.server.questions.sampled_store import BEGIN_US, RESET, sampled_store, seconds

BEFORE = seconds(RESET - 5, RESET)
CORE = Filters(cpus=(0,))


def numbers(text: str | None) -> list[int]:
    assert text is not None
    return list(array("I", b64decode(text)))


def totals(flame: Flame, column: str | None = None) -> dict[str, int]:
    labels = [flame.labels[label].name for label in numbers(flame.label)]
    return dict(zip(labels, numbers(column or flame.total), strict=True))


def test_the_tree_of_a_range(tmp_path: Path) -> None:
    flame = ask_flame(sampled_store(tmp_path), BEFORE, CORE, Tree())
    assert flame.samples == 5 * HERTZ == numbers(flame.total)[0] and flame.seconds == 5
    assert totals(flame)["kubelet"] == 5 * 0.6 * HERTZ == totals(flame)["mem_cgroup_nr_lru_pages"]
    parents = numbers(flame.parent)
    assert len(parents) == flame.nodes and all(parent < node for node, parent in enumerate(parents) if node)
    assert flame.baseline is None and flame.baseline_total is None


def test_title_and_notes_are_those_of_the_verb(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import json

    store = sampled_store(tmp_path)
    flame = ask_flame(store, BEFORE, CORE, Tree(against="quiet"))
    words = ["flame", "--store", str(tmp_path), "-b", "2026-04-15T10:00:35Z", "-e", "2026-04-15T10:00:40Z"]
    assert main([*words, "--cpu", "0", "--against", "baseline", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (flame.title, flame.notes) == (said["title"], said["notes"])
    assert numbers(flame.total) == said["tree"]["total"]
    assert numbers(flame.baseline_total) == said["tree"]["baseline_total"]


def test_against_quiet_seconds_and_against_a_stretch(tmp_path: Path) -> None:
    store = sampled_store(tmp_path)
    quiet = ask_flame(store, BEFORE, CORE, Tree(against="quiet"))
    assert quiet.baseline and quiet.baseline.seconds > 60 and "quiet seconds" in quiet.baseline.text
    assert totals(quiet, quiet.baseline_total)["kubelet"] == 0
    named = seconds(0, 10)
    other = ask_flame(store, BEFORE, CORE, Tree(against=f"{named.begin_us}..{named.end_us}"))
    assert other.baseline and other.baseline.ranges == [(BEGIN_US, BEGIN_US + 10_000_000)]
    assert other.baseline.samples == 10 * 0.4 * HERTZ


def test_without_quiet_seconds_the_tree_stands_alone_and_says_so(tmp_path: Path) -> None:
    flame = ask_flame(sampled_store(tmp_path), seconds(0, 90), CORE, Tree(against="quiet"))
    assert flame.baseline is None and flame.baseline_total is None
    assert any(note.startswith("not compared: no quiet second") for note in flame.notes)


def test_splits_inversion_and_search(tmp_path: Path) -> None:
    store = sampled_store(tmp_path)
    assert "core 1" in totals(ask_flame(store, BEFORE, Filters(), Tree(by="core")))
    inverted = ask_flame(store, BEFORE, CORE, Tree(by="whole", inverted=True))
    names = [inverted.labels[label].name for label in numbers(inverted.label)]
    first = [name for name, parent in zip(names, numbers(inverted.parent), strict=True) if parent == 0]
    assert "mem_cgroup_nr_lru_pages" in first
    only = ask_flame(store, BEFORE, Filters(search="memcg_numa", only_matching=True), Tree())
    assert only.samples == 5 * 0.6 * HERTZ and "matching memcg_numa" in only.title


def test_a_large_tree_is_pruned_and_says_so(tmp_path: Path) -> None:
    store = sampled_store(tmp_path)
    whole = ask_flame(store, BEFORE, CORE, Tree(against="quiet"))
    small = ask_flame(store, BEFORE, CORE, Tree(against="quiet"), most_nodes=4)
    assert small.nodes <= 4 < whole.nodes and numbers(small.total)[0] == numbers(whole.total)[0]
    assert all(parent < small.nodes for parent in numbers(small.parent))
    assert {label.name for label in small.labels} < {label.name for label in whole.labels}
    assert f"{whole.nodes - small.nodes} of {whole.nodes} frames are left out" in small.notes[-1]


@pytest.mark.parametrize("against", ["loud", "1..", "5..4", "../../etc/passwd", f"{10**15}..{10**17}"])
def test_a_baseline_that_is_none(tmp_path: Path, against: str) -> None:
    with pytest.raises(UsageError):
        ask_flame(sampled_store(tmp_path), BEFORE, CORE, Tree(against=against))


def test_what_is_not_there(tmp_path: Path) -> None:
    store = sampled_store(tmp_path)
    with pytest.raises(NoSamplesError):
        ask_flame(store, seconds(5000, 5010), Filters(), Tree())
    with pytest.raises(NoSamplesError):
        ask_flame(store, BEFORE, Filters(processes=("nobody",)), Tree())
    with pytest.raises(UsageError, match="7200 s"):
        ask_flame(store, seconds(0, 7201), Filters(), Tree())
