"""The text of `perf script` and folded stacks become profiles that agree with perf itself."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from necroscope._native import (
    Profile,
    Query,
    Window,
    import_folded,
    import_perf_script,
    sniff_profile,
)
from necroscope.profiles.idle import idle_rule

Importer = Callable[..., dict[str, Any]]
EVERYTHING = 2**62


def run_import(importer: Importer, path: Path, folder: Path) -> dict[str, Any]:
    rule = idle_rule()
    folder.mkdir()
    return importer(path, folder, idle=list(rule.idle), interrupt=list(rule.interrupt))


def query(*, cpus: list[int] | None = None, idle: bool = True) -> Query:
    return Query(-1, EVERYTHING, cpus=cpus or [], processes=[], threads=[], events=[], idle=idle)


def folded(folder: Path, split: str, asked: Query) -> Counter[tuple[str, ...]]:
    window = Window()
    window.add(Profile(folder), asked, split)
    return Counter({tuple(labels): count for labels, count in window.folded()})


def perf(*words: str) -> str:
    done = subprocess.run(
        ["perf", *words], capture_output=True, text=True, errors="replace", timeout=120, check=False
    )
    if done.returncode != 0:
        pytest.skip(f"perf {words[0]} does not work here: {done.stderr.strip()[-200:]}")
    return done.stdout


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A capture of all cores while a thread named with a blank is busy."""
    if shutil.which("perf") is None:
        pytest.skip("perf is not installed")
    if os.geteuid() != 0:
        pytest.skip("a capture of all cores needs root")
    path = tmp_path_factory.mktemp("capture") / "x.data"
    busy = "import pathlib\npathlib.Path('/proc/self/comm').write_text('two words')\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", busy]) as worker:
        try:
            perf("record", "-B", "-F", "999", "-g", "-a", "-o", str(path), "--", "sleep", "2")
        finally:
            worker.kill()
    yield path


def by_comm_and_core(capture: Path) -> Counter[tuple[str, int]]:
    """What perf itself counts."""
    counts: Counter[tuple[str, int]] = Counter()
    for line in perf("script", "-i", str(capture), "-F", "comm,cpu", "-G").splitlines():
        if line.strip():
            comm, core = line.strip().rsplit(maxsplit=1)
            counts[comm.strip(), int(core.strip("[]"))] += 1
    return counts


def imported_by_comm_and_core(folder: Path) -> Counter[tuple[str, int]]:
    counts: Counter[tuple[str, int]] = Counter()
    for core in range(os.cpu_count() or 1):
        for labels, count in folded(folder, "comm", query(cpus=[core])).items():
            counts[labels[0], core] += count
    return counts


@pytest.mark.parametrize(
    "words",
    [
        pytest.param([], id="default"),
        pytest.param(["--header", "--ns"], id="header-ns"),
        pytest.param(["-F", "comm,pid,tid,cpu,time,period,event,ip,sym,dso"], id="pid-tid"),
        pytest.param(["-F", "comm,tid,cpu,time,event,ip,sym,symoff,dso"], id="no-period"),
        pytest.param(["-F", "comm,tid,cpu,time"], id="no-event-no-stack"),
    ],
)
def test_samples_per_comm_and_core_agree_with_perf(capture: Path, tmp_path: Path, words: list[str]) -> None:
    text = tmp_path / "x.txt"
    text.write_text(perf("script", "-i", str(capture), *words))
    facts = run_import(import_perf_script, text, tmp_path / "profile")
    expected = by_comm_and_core(capture)
    assert any(comm == "two words" for comm, _ in expected)
    assert facts["samples"] == sum(expected.values())
    assert not [gap for gap in facts["gaps"] if "not understood" in gap]
    assert imported_by_comm_and_core(tmp_path / "profile") == expected


def test_header_and_times_of_a_real_capture(capture: Path, tmp_path: Path) -> None:
    text = tmp_path / "x.txt.gz"
    text.write_bytes(gzip.compress(perf("script", "--header", "--ns", "-i", str(capture)).encode()))
    facts = run_import(import_perf_script, text, tmp_path / "profile")
    assert facts["hostname"] == os.uname().nodename
    assert facts["release"] == os.uname().release
    assert facts["captured_on"] is not None
    assert facts["lost_samples"] is None
    times = perf("script", "--ns", "-i", str(capture), "-F", "time", "-G").replace(":", "").split()
    nanoseconds = sorted(int(time.replace(".", "")) for time in times)
    assert (facts["begin_ns"], facts["end_ns"]) == (nanoseconds[0], nanoseconds[-1])


def test_the_kinds_of_files_are_told_apart(capture: Path, tmp_path: Path) -> None:
    text = perf("script", "-i", str(capture)).encode()
    (tmp_path / "a.txt").write_bytes(text)
    (tmp_path / "a.gz").write_bytes(gzip.compress(text))
    assert sniff_profile(capture) == "perf.data"
    assert sniff_profile(tmp_path / "a.txt") == "perf-script"
    assert sniff_profile(tmp_path / "a.gz") == "perf-script"


def test_folded_stacks_come_back_with_their_counts(tmp_path: Path) -> None:
    path = tmp_path / "x.folded"
    path.write_text("sh;main;do_syscall_64_[k] 3\nsh;[libc.so.6];[unknown] 2\nswapper;do_idle_[k] 5\n")
    assert sniff_profile(path) == "folded"
    facts = run_import(import_folded, path, tmp_path / "profile")
    assert (facts["samples"], facts["begin_ns"], facts["end_ns"]) == (10, 0, 0)
    assert folded(tmp_path / "profile", "comm", query()) == {
        ("sh", "main", "do_syscall_64"): 3,
        ("sh", "[libc.so.6]", "[unknown]"): 2,
        ("swapper", "do_idle"): 5,
    }


@pytest.mark.parametrize("importer", [import_perf_script, import_folded])
def test_what_is_no_profile_is_an_error_that_says_what_is(importer: Importer, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("hello\nworld\n")
    assert sniff_profile(path) is None
    with pytest.raises(ValueError, match=r"line 1 is not understood.*expected"):
        run_import(importer, path, tmp_path / "a")
    with pytest.raises(OSError, match="directory"):
        run_import(importer, tmp_path, tmp_path / "b")
    with pytest.raises(FileNotFoundError):
        run_import(importer, tmp_path / "absent", tmp_path / "c")


def test_a_cut_gzip_gives_its_beginning(tmp_path: Path) -> None:
    sample = "a {0} [000] {0}.000000: 1 cycles: \n\t{0:x} f{0}+0x1 (/x)\n\n"
    whole = gzip.compress("".join(sample.format(number) for number in range(50_000)).encode())
    path = tmp_path / "x.gz"
    path.write_bytes(whole[: len(whole) // 2])
    facts = run_import(import_perf_script, path, tmp_path / "profile")
    assert 10_000 < facts["samples"] < 50_000
    assert any("could not be read beyond line" in gap for gap in facts["gaps"])
