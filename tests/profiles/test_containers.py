"""A program that only a container has is named from the container's own files, while it lives."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from lab.machines.nspawn import Container, why_not
from necroscope import _native
from necroscope.profiles.import_ import import_file
from necroscope.profiles.window import Selection, window
from necroscope.store.store import Store

pytestmark = [
    pytest.mark.skipif(why_not() is not None, reason=str(why_not())),
    pytest.mark.skipif(shutil.which("perf") is None, reason="needs perf"),
]
# Built in the container's own file system; it calls itself often enough to be seen.
SOURCE = "int only_in_here(int n) { volatile int s = 0; for (int i = 0; i < n; i++) s += i; return s; }\n"
SOURCE += "int main(void) { for (;;) only_in_here(1000000); }\n"


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_symbols_from_inside_a_container(tmp_path: Path) -> None:
    capture = tmp_path / "perf.data"
    with Container() as machine:
        compile_it = "gcc -O0 -fno-omit-frame-pointer -o hog hog.c"
        build = f"mkdir -p /opt/inside && cd /opt/inside && printf '%s' '{SOURCE}' >hog.c && {compile_it}"
        built = machine.run(["sh", "-c", build])
        assert built.returncode == 0, built.stderr
        assert not Path("/opt/inside").exists(), "the host does not have it"
        work = threading.Thread(target=machine.run, args=(["timeout", "20", "/opt/inside/hog"],))
        work.start()
        time.sleep(0.5)
        record = [
            "perf",
            "record",
            "-q",
            "-B",
            "-a",
            "-g",
            "-F",
            "499",
            "-o",
            str(capture),
            "--",
            "sleep",
            "2",
        ]
        subprocess.run(record, check=True, capture_output=True)
        segment = import_file(Store(tmp_path / "store"), capture)
        machine.run(["pkill", "-x", "hog"])
        work.join()
    found = window([segment], Selection(segment.begin_ns, segment.end_ns + 1, processes=("hog",)))
    names = {name for stack, _ in found.stacks.folded() for name in stack}
    assert found.samples > 100
    assert {"main", "only_in_here"} <= names


def test_kernel_symbols_of_another_boot_are_refused(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    capture, kallsyms, folder = tmp_path / "perf.data", tmp_path / "kallsyms", tmp_path / "out"
    folder.mkdir()
    command = [sys.executable, "-c", "import os\nfor _ in range(200000): os.stat('/')"]
    subprocess.run(
        ["perf", "record", "-q", "-B", "-a", "-g", "-o", str(capture), "--", *command],
        check=True,
        capture_output=True,
    )
    moved = []
    for line in Path("/proc/kallsyms").read_text().splitlines():
        address, rest = line.split(" ", 1)
        moved.append(f"{int(address, 16) + 0x200000:016x} {rest}")
    kallsyms.write_text("\n".join(moved) + "\n")
    facts = _native.import_perf_data(capture, folder, kallsyms=kallsyms, root="/", idle=[], interrupt=[])
    assert any("of another boot" in gap for gap in facts["gaps"])
