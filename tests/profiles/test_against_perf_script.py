"""A real capture, read by us and by `perf script`: the same samples, tasks, times and stacks.

perf's name of a frame and ours may differ for these reasons, and no other:

alias      two symbols stand at one address (`__GI___getdents64` and `getdents64`), each took another one
plt        perf makes up `name@plt` for stubs, which have no symbol
demangling perf leaves out parameters of C++ and hashes of Rust names
only one   one of both has a name for it: perf knows the vdso of its own process and symbols of no size;
           we know Rust's v0 names

A stack of which perf shows no frame at all held a value in the range of markers; perf drops such a stack.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

from tests.profiles import captures

SAME_FUNCTION = ("identical", "alias", "demangling")
HEAD = re.compile(r"^\s*(.*?)\s+(-?\d+)/(-?\d+)\s+\[(\d+)\]\s+(\d+)\.(\d{9}):\s+(\S+?):?\s*$")
FRAME = re.compile(r"^\s+([0-9a-f]+) (.*?) \((.*)\)$")
SHARE_SAME_FUNCTION = 0.99
SHARE_SAME_NAME = 0.9  # libc has an alias for every system call, and perf likes the internal one
MOST_UNEXPLAINED = 0.001


@dataclass(slots=True)
class Sample:
    """A sample as perf script prints it; frames innermost first: address, symbol, file."""

    comm: str
    tid: int
    cpu: int
    time: int
    frames: list[tuple[int, str, str]] = field(default_factory=list)


@dataclass(slots=True)
class Pair:
    """A capture as perf script tells it and as we do."""

    theirs: list[Sample]
    ours: list[Sample]
    kallsyms: Path


def parse(text: str) -> list[Sample]:
    """The samples of perf script's output."""
    samples: list[Sample] = []
    for line in text.splitlines():
        if head := HEAD.match(line):
            comm, _, tid, cpu, seconds, rest, _ = head.groups()
            samples.append(Sample(comm, int(tid), int(cpu), int(seconds) * 10**9 + int(rest)))
        elif frame := FRAME.match(line):
            samples[-1].frames.append((int(frame[1], 16), frame[2], frame[3]))
        else:
            assert not line.strip(), line
    return samples


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """Three seconds of a Python loop, `find` and `dd`."""
    captures.require_perf()
    folder = tmp_path_factory.mktemp("capture")
    work = (
        [sys.executable, "-c", "while True: sorted(str(i) for i in range(999))"],
        ["sh", "-c", "while :; do find /usr >/dev/null; done"],
        ["sh", "-c", "while :; do dd if=/dev/zero of=/dev/null bs=64k count=2000; done"],
    )
    with captures.running(*work):
        captures.record(folder / "perf.data", 3, "-F", "499")
    kallsyms = captures.save_kallsyms(folder / "kallsyms")
    fields = ["-F", "comm,pid,tid,cpu,time,event,ip,sym,dso"]
    command = ["perf", "script", "-i", "perf.data", "--ns", "--no-inline", "--kallsyms", "kallsyms", *fields]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, errors="replace")
    theirs = parse(done.stdout)
    facts, profile = captures.import_capture(folder / "perf.data", folder / "sealed", kallsyms)
    assert facts["gaps"] == []
    assert facts["samples"] == len(theirs)
    ours = []
    for sample in theirs:
        rows = captures.folded(
            profile,
            cpus=[sample.cpu],
            threads=[str(sample.tid & 0xFFFFFFFF)],
            span=(sample.time, sample.time + 1),
        )
        assert len(rows) == 1, (sample, rows)
        (comm, *labels), count = rows[0]
        assert count == 1, "one sample of a thread at one time"
        frames = [(0, label, "") for label in reversed(labels)]
        ours.append(Sample(comm, sample.tid, sample.cpu, sample.time, frames))
    return Pair(theirs, ours, kallsyms)


def test_tasks_and_times(pair: Pair) -> None:
    """Every sample is found by its own time, core and thread, and has the same name of the thread."""
    different = Counter(
        (theirs.comm, ours.comm)
        for theirs, ours in zip(pair.theirs, pair.ours, strict=True)
        if theirs.comm != ours.comm
    )
    assert not different
    assert len({sample.comm for sample in pair.theirs}) > 3


def test_counts(pair: Pair) -> None:
    """Samples per name and core, and per second."""
    keys: tuple[Callable[[Sample], object], ...] = (lambda s: (s.comm, s.cpu), lambda s: s.time // 10**9)
    for key in keys:
        assert Counter(map(key, pair.theirs)) == Counter(map(key, pair.ours))


def test_stacks(pair: Pair, capsys: pytest.CaptureFixture[str]) -> None:
    """Frame by frame: what differs is explained and rare."""
    reasons: Counter[str] = Counter()
    unexplained: Counter[tuple[str, str, str]] = Counter()
    identical_stacks = dropped = 0
    for theirs, ours in zip(pair.theirs, pair.ours, strict=True):
        if not theirs.frames and ours.frames:
            dropped += 1
            continue
        assert len(theirs.frames) == len(ours.frames), (theirs, ours)
        verdicts = [
            compare(address, name, file, mine, pair.kallsyms)
            for (address, name, file), (_, mine, _) in zip(theirs.frames, ours.frames, strict=True)
        ]
        reasons.update(verdicts)
        identical_stacks += all(verdict == "identical" for verdict in verdicts)
        for verdict, (_, name, file), (_, mine, _) in zip(verdicts, theirs.frames, ours.frames, strict=True):
            if verdict == "unexplained":
                unexplained[name, mine, file] += 1
    frames = reasons.total()
    with capsys.disabled():
        sys.stdout.write(
            f"\n{len(pair.theirs)} samples, {frames} frames: {dict(reasons)}; "
            f"{identical_stacks} stacks identical, {dropped} dropped by perf\n"
        )
    assert reasons["identical"] >= SHARE_SAME_NAME * (frames - reasons["demangling"])
    assert sum(reasons[same] for same in SAME_FUNCTION) >= SHARE_SAME_FUNCTION * frames
    assert unexplained.total() <= MOST_UNEXPLAINED * frames, unexplained.most_common(20)
    assert dropped <= 0.01 * len(pair.theirs)


def compare(address: int, theirs: str, file: str, ours: str, kallsyms: Path) -> str:
    """Why two names of a frame differ, or that they do not."""
    unnamed = ours.startswith("[")
    if theirs == ours or (theirs == "[unknown]" and unnamed):
        return "identical"
    if theirs.endswith("@plt"):
        return "plt"
    if theirs == "[unknown]" or unnamed:
        return "only one"
    mangled = any("::" in name or name.startswith(("_R", "_Z")) or "<" in name for name in (theirs, ours))
    if mangled or ours.startswith(f"{theirs}("):
        return "demangling"
    symbols = kernel_symbols(kallsyms) if file.startswith("[") else elf_symbols(file)
    return "alias" if symbols.at_one_place(without_version(theirs), without_version(ours)) else "unexplained"


def without_version(name: str) -> str:
    """`fopen@@GLIBC_2.2.5` is fopen."""
    return name.partition("@")[0]


class Symbols:
    """Addresses of names."""

    def __init__(self, rows: list[tuple[str, int, int]]) -> None:
        self.ranges: dict[str, list[tuple[int, int]]] = {}
        for name, start, size in rows:
            self.ranges.setdefault(name, []).append((start, size))

    def at_one_place(self, one: str, other: str) -> bool:
        """Whether the two begin at one address, or one lies inside of the other."""
        for start, size in self.ranges.get(one, []):
            for other_start, other_size in self.ranges.get(other, []):
                if start == other_start:
                    return True
                if start < other_start < start + size or other_start < start < other_start + other_size:
                    return True
        return False


@cache
def kernel_symbols(kallsyms: Path) -> Symbols:
    """Names of a saved kallsyms; it has no sizes."""
    words = (line.split() for line in kallsyms.read_text().splitlines())
    return Symbols([(word[2], int(word[0], 16), 0) for word in words])


@cache
def elf_symbols(file: str) -> Symbols:
    """Names in a file and in its debug file, by nm; without versions."""
    rows: list[tuple[str, int, int]] = []
    for path, options in ((file, ["-D"]), (file, []), (debug_file(file), [])):
        command = ["nm", "-S", *options, path]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        for line in done.stdout.splitlines():
            if match := re.match(r"^([0-9a-f]+)(?: ([0-9a-f]+))? \S (\S+)$", line):
                rows.append((without_version(match[3]), int(match[1], 16), int(match[2] or "0", 16)))
    return Symbols(rows)


def debug_file(file: str) -> str:
    """The separate debug file that distributions install by build id."""
    done = subprocess.run(["readelf", "-n", file], capture_output=True, text=True, check=False)
    match = re.search(r"Build ID: ([0-9a-f]{2})([0-9a-f]+)", done.stdout)
    return f"/usr/lib/debug/.build-id/{match[1]}/{match[2]}.debug" if match else file
