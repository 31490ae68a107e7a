from __future__ import annotations

import gzip
import re
from dataclasses import replace
from pathlib import Path

from necroscope.profiles.export.pprof import encode_pprof, message, varint
from necroscope.profiles.export.title import Title
from necroscope.profiles.flame import Flame
from tests.profiles.export.flames import DIFFERENCE, HOSTILE, ONE, TITLE, hostile
from tests.profiles.export.other_tools import go_pprof, speedscope_import

TIMED = replace(TITLE, period_ns=10_000_000)


def write(folder: Path, flame: Flame, title: Title) -> Path:
    file = folder / "x.pb.gz"
    file.write_bytes(encode_pprof(flame, title))
    return file


def test_protobuf_writer() -> None:
    assert varint(0) == b"\x00"
    assert varint(300) == b"\xac\x02"  # the example of the protobuf documentation
    assert message((1, 150), (2, b"testing")) == b"\x08\x96\x01\x12\x07testing"


def test_the_bytes_are_the_same_each_time() -> None:
    assert encode_pprof(ONE, TIMED) == encode_pprof(ONE, TIMED)


def test_go_reads_the_same_totals(tmp_path: Path) -> None:
    file = write(tmp_path, ONE, TIMED)
    assert "of 100 total" in go_pprof(file, "-top", "-sample_index=samples", "-nodefraction=0")
    top = go_pprof(file, "-top", "-sample_index=cpu", "-nodefraction=0")
    assert "of 1000ms total" in top
    assert re.search(r"300ms .* 300ms .*read", top)
    assert re.search(r"100ms .* 600ms .*main", top)


def test_go_reads_stacks_modules_and_notes(tmp_path: Path) -> None:
    raw = go_pprof(write(tmp_path, ONE, TITLE), "-raw")
    assert "samples/count" in raw
    assert "nanoseconds" not in raw
    assert {"Comment: web-1, 5 s, core 37", "Comment: 3 idle", "Comment: 0 lost"} <= set(raw.splitlines())
    assert "[kernel]" in raw
    assert sum(int(count) for count in re.findall(r"^ +(\d+): [\d ]+$", raw, re.MULTILINE)) == 100


def test_difference_is_the_window_only_and_says_so(tmp_path: Path) -> None:
    file = write(tmp_path, DIFFERENCE, TITLE)
    assert "of 40 total" in go_pprof(file, "-top", "-nodefraction=0")
    assert "the window only" in go_pprof(file, "-comments")


def test_go_reads_hostile_names(tmp_path: Path) -> None:
    file = write(tmp_path, hostile(), TITLE)
    assert f"of {len(HOSTILE)} total" in go_pprof(file, "-top", "-nodefraction=0")


def test_speedscope_reads_the_same_totals(tmp_path: Path) -> None:
    (profile,) = speedscope_import(write(tmp_path, ONE, TITLE))
    assert profile["total"] == 100


def test_strings_are_not_repeated() -> None:
    assert gzip.decompress(encode_pprof(ONE, TITLE)).count(b"/bin/web") == 1
