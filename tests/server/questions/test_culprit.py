from __future__ import annotations

from pathlib import Path

import pytest

from necroscope.errors import NoSamplesError, UsageError
from necroscope.server.questions.culprit import MOST_SUSPECTS, ask_culprit
from necroscope.server.questions.selection import Filters
from tests.server.questions.sampled_store import RESET, sampled_store, seconds


def test_who_stands_out_before_a_reset(tmp_path: Path) -> None:
    store = sampled_store(tmp_path)
    found = ask_culprit(store, seconds(RESET - 5, RESET), Filters(cpus=(0,)))
    assert found.culprit and found.culprit == found.suspects[0]
    assert (found.culprit.process, found.culprit.function) == ("kubelet", "mem_cgroup_nr_lru_pages")
    assert found.culprit.text == "kubelet in mem_cgroup_nr_lru_pages"
    assert found.culprit.is_significant and found.culprit.lift is None
    assert found.window_seconds == 5 and found.quiet_seconds > 60 and found.note == ""
    assert len(found.suspects) <= MOST_SUSPECTS


def test_of_the_filters_the_cores_count(tmp_path: Path) -> None:
    store = sampled_store(tmp_path)
    span = seconds(RESET - 5, RESET)
    assert ask_culprit(store, span, Filters(cpus=(1,))).culprit is None
    named = Filters(cpus=(0,), processes=("python",), search="nothing", only_matching=True)
    assert ask_culprit(store, span, named) == ask_culprit(store, span, Filters(cpus=(0,)))


def test_a_window_of_less_than_a_second(tmp_path: Path) -> None:
    found = ask_culprit(sampled_store(tmp_path), seconds(RESET - 3, RESET - 2.75), Filters(cpus=(0,)))
    assert found.window_seconds == 1


def test_what_cannot_be_asked(tmp_path: Path) -> None:
    store = sampled_store(tmp_path)
    with pytest.raises(UsageError, match="600 s"):
        ask_culprit(store, seconds(0, 601), Filters())
    with pytest.raises(NoSamplesError):
        ask_culprit(store, seconds(5000, 5010), Filters())
