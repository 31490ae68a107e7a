from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from necroscope.errors import NoSamplesError
from necroscope.server.questions.export import ask_export, file_name
from necroscope.server.range_and_filters import Filters, Range, Tree
from tests.server.questions.sampled_store import RESET, sampled_store, seconds

BEFORE = seconds(RESET - 5, RESET)
CORE = Filters(cpus=(0,))


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
