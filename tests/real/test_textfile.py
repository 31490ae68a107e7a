"""node_exporter shows what a recorder writes for it, with root and without; bad names are refused."""

from __future__ import annotations

import os
import re
import shutil
import socket
import stat
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.real.recorders import Recorder, metrics, recorder, recording, wait_until
from tests.unprivileged import as_nobody, folder_of_nobody

PROGRAM = shutil.which("prometheus-node-exporter")
REASON = "needs root" if os.geteuid() else None if PROGRAM else "needs prometheus-node-exporter"
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))
ERROR = "node_textfile_scrape_error"
CORES = "necroscope_cores"


class NodeExporter:
    """The real one, with the textfile collector alone."""

    def __init__(self, port: int) -> None:
        self._address = f"http://127.0.0.1:{port}/metrics"

    def values(self) -> dict[str, float]:
        """All that it shows, by series."""
        with urllib.request.urlopen(self._address, timeout=5) as answer:
            lines = answer.read().decode().splitlines()
        rows = [line.rpartition(" ") for line in lines if line and not line.startswith("#")]
        return {name: float(value) for name, _, value in rows}

    def is_up(self) -> bool:
        try:
            return bool(self.values())
        except OSError:
            return False


@contextmanager
def node_exporter(folder: Path) -> Iterator[NodeExporter]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = [f"--web.listen-address=127.0.0.1:{port}", "--collector.disable-defaults"]
    words += ["--collector.textfile", f"--collector.textfile.directory={folder}"]
    process = subprocess.Popen([str(PROGRAM), *words], stderr=subprocess.DEVNULL)
    try:
        one = NodeExporter(port)
        wait_until(one.is_up, 20, "node_exporter")
        yield one
    finally:
        process.terminate()
        process.wait()


def families(values: dict[str, float]) -> set[str]:
    return {name for series in values if (name := series.partition("{")[0]).startswith("necroscope_")}


def show(one: NodeExporter) -> dict[str, float]:
    """What it shows once the recorder has something to say."""
    wait_until(lambda: CORES in one.values(), 30, "the cores in node_exporter")
    return one.values()


def test_node_exporter_shows_all_of_it_and_nothing_after_the_end(tmp_path: Path) -> None:
    folder = tmp_path / "textfiles"
    folder.mkdir()
    path = folder / "necroscope.prom"
    words = ("--rate", "0", "--segment", "2s", "--listen", "127.0.0.1:0", "--textfile", str(path))
    with node_exporter(folder) as exporter:
        with recording(tmp_path / "store", *words, samples=False) as one:
            values = show(exporter)
            scraped = metrics(one)
            assert values[ERROR] == 0
            assert stat.S_IMODE(path.stat().st_mode) == 0o644
            later = {"necroscope_findings_active", "necroscope_findings_examined_timestamp_seconds"}
            assert families(scraped) - families(values) <= later, "but what is known only later"
            assert values[CORES] == scraped[CORES] == os.cpu_count()
            assert f'node_textfile_mtime_seconds{{file="{path}"}}' in values
            code, _ = one.end()
        assert (code, list(folder.iterdir())) == (0, [])
        left = exporter.values()
    assert not families(left) and left[ERROR] == 0


def test_one_that_was_killed_leaves_it_and_the_next_takes_it_over(tmp_path: Path) -> None:
    path = tmp_path / "necroscope.prom"
    words = ("--rate", "0", "--textfile", str(path))
    began = r"^necroscope_recorder_start_time_seconds (\S+)$"
    with recording(tmp_path / "store", *words, samples=False) as one:
        (first,) = re.findall(began, path.read_text(), re.MULTILINE)
        one.kill()
    assert path.exists()
    with recording(tmp_path / "store", *words, samples=False) as one:
        (second,) = re.findall(began, path.read_text(), re.MULTILINE)
        one.end()
    assert float(second) > float(first) and not path.exists()


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv")
def test_without_root() -> None:
    with folder_of_nobody() as home, node_exporter(home) as exporter:
        words = ("--rate", "0", "--textfile", str(home / "necroscope.prom"))
        wrapper = as_nobody()
        with recording(home / "store", *words, samples=False, wrapper=wrapper) as one:
            values = show(exporter)
            one.end()
    assert values[ERROR] == 0
    assert values['necroscope_source_up{reason="not_permitted",source="cgroup-ledger"}'] == 0
    assert "necroscope_memory_cgroup_zombies_by_owner" not in families(values)


def refused(store: Path, *words: str) -> tuple[int, str, Recorder]:
    with recorder(store, "--rate", "0", *words) as one:
        code, body = one.wait()
    return code, body["error"]["what"], one


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("necroscope.txt", "does not end in .prom"),
        ("nowhere/necroscope.prom", "cannot write {path}: No such file or directory"),
        ("taken/necroscope.prom", "cannot write {path}: Not a directory"),
        ("folder.prom", "cannot write {path}: Is a directory"),
    ],
)
def test_a_name_that_does_not_work_is_refused_at_the_start(tmp_path: Path, name: str, why: str) -> None:
    path = tmp_path / name
    (tmp_path / "taken").write_text("")
    (tmp_path / "folder.prom").mkdir()
    code, what, one = refused(tmp_path / "store", "--textfile", str(path))
    assert code == 2 and why.format(path=path) in what, one.said()
    assert not list(tmp_path.glob("*.partial")) and not list(tmp_path.glob(".*.partial"))


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv")
def test_a_folder_that_is_not_ours_is_refused_at_the_start(tmp_path: Path) -> None:
    with folder_of_nobody() as home:
        closed = home / "closed"
        closed.mkdir(mode=0o755)
        path = closed / "necroscope.prom"
        with recorder(home / "store", "--rate", "0", "--textfile", str(path), wrapper=as_nobody()) as one:
            code, body = one.wait()
    assert (code, body["error"]["what"]) == (2, f"cannot write {path}: Permission denied")
