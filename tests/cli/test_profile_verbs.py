"""import, scope and flame as people run them, on a capture of known content."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run

Document = Callable[..., dict[str, Any]]
SECONDS, HERTZ = 12, 10

KUBELET = """kubelet   812/830   [001] {time:.6f}:   10101010 cpu-clock:ppp:
\tffffffff81200010 mem_cgroup_nr_lru_pages+0x10 ([kernel.kallsyms])
\tffffffff81200100 memcg_numa_stat_show+0x20 ([kernel.kallsyms])
\tffffffff81300000 seq_read+0x5 ([kernel.kallsyms])
\t          47a3c1 runtime.main+0x11 (/usr/bin/kubelet)

"""
TRAINER = """python   900/900   [000] {time:.6f}:   10101010 cpu-clock:ppp:
\t          51aa00 train_step+0x10 (/usr/bin/python3.11)
\t          47a3c1 main+0x11 (/usr/bin/python3.11)

"""
IDLE = """swapper     0/0     [001] {time:.6f}:   10101010 cpu-clock:ppp:
\tffffffff81f00000 pv_native_safe_halt+0xf ([kernel.kallsyms])
\tffffffff81f00100 default_idle+0x9 ([kernel.kallsyms])
\tffffffff81f00200 do_idle+0xf0 ([kernel.kallsyms])

"""


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """Core 0 trains all the time; core 1 is idle but for seconds 6 to 9, when kubelet is in the kernel."""
    text = []
    for tick in range(SECONDS * HERTZ):
        time = 5000 + tick / HERTZ
        text.append(TRAINER.format(time=time))
        text.append((KUBELET if 6 <= tick / HERTZ < 9 else IDLE).format(time=time + 0.01))
    path = tmp_path / "capture.txt"
    path.write_text("".join(text))
    return path


@pytest.fixture
def store(necroscope: Run, capture: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "store"
    done = necroscope("import", capture, "--store", folder, "--host", "node-17")
    assert done.returncode == 0, done.stderr
    return folder


def folded(necroscope: Run, store: Path, tmp_path: Path, *words: str) -> dict[str, int]:
    output = tmp_path / "out.folded"
    done = necroscope("flame", "--store", store, "-f", "-o", output, *words)
    assert done.returncode == 0, done.stderr
    rows = (line.rpartition(" ") for line in output.read_text().splitlines() if not line.startswith("#"))
    return {stack: int(count) for stack, _, count in rows}


def test_import_says_what_it_found(document: Document, capture: Path, tmp_path: Path) -> None:
    body = document("import", capture, "--store", tmp_path / "store", exit_code=0)
    (segment,) = body["segments"]
    assert segment["profile"]["samples"] == 2 * SECONDS * HERTZ
    assert Path(segment["folder"], "profile/samples.parquet").exists()
    assert {file["name"] for file in segment["files"]} == {
        f"profile/{name}.parquet" for name in ("events", "frames", "samples", "stacks", "tasks")
    }


def test_gzipped_text_is_the_same(document: Document, capture: Path, tmp_path: Path) -> None:
    packed = tmp_path / "capture.txt.gz"
    packed.write_bytes(gzip.compress(capture.read_bytes()))
    plain = document("import", capture, "--store", tmp_path / "a")["segments"][0]["profile"]
    assert (
        document("import", packed, "--store", tmp_path / "b")["segments"][0]["profile"]["samples"]
        == plain["samples"]
    )


def test_the_same_second_twice_is_two_segments(necroscope: Run, capture: Path, tmp_path: Path) -> None:
    for _ in range(2):
        assert necroscope("import", capture, "--store", tmp_path / "store", "--host", "n").returncode == 0
    assert len(list((tmp_path / "store/n").glob("2*"))) == 2


def test_the_flame_graph_of_one_core_has_no_other_cores_work(
    necroscope: Run, store: Path, tmp_path: Path
) -> None:
    stacks = folded(necroscope, store, tmp_path, "--cpu", "1")
    assert stacks == {
        "kubelet;runtime.main;seq_read;memcg_numa_stat_show;mem_cgroup_nr_lru_pages": 3 * HERTZ,
    }
    assert folded(necroscope, store, tmp_path, "--cpu", "0") == {"python;main;train_step": SECONDS * HERTZ}


def test_a_window_and_a_process(necroscope: Run, store: Path, tmp_path: Path) -> None:
    stacks = folded(necroscope, store, tmp_path, "-b", "+5s", "-e", "+7s", "--process", "kubelet")
    assert sum(stacks.values()) == HERTZ
    around = folded(necroscope, store, tmp_path, "--around", "+8s", "--window", "2s", "--thread", "kubelet")
    assert sum(around.values()) == 3 * HERTZ


def test_idle_samples_are_counted_on_request_and_always_told(document: Document, store: Path) -> None:
    body = document("flame", "--store", store)
    assert (body["samples"], body["idle"]) == (15 * HERTZ, 9 * HERTZ)
    assert document("flame", "--store", store, "--idle")["samples"] == 24 * HERTZ


def test_a_difference_states_its_direction(necroscope: Run, document: Document, store: Path) -> None:
    words = ("flame", "--store", store, "-b", "+6s", "-e", "+9s", "--against", "baseline")
    body = document(*words, exit_code=0)
    tree = body["tree"]
    names = [tree["labels"][label]["name"] for label in tree["label"]]
    kubelet = names.index("kubelet")
    assert tree["total"][kubelet] == 3 * HERTZ
    assert tree["baseline_total"][kubelet] == 0
    assert "orange: more here than there" in body["notes"]
    assert body["against"]["seconds"] == 8, "six whole seconds before, and two after"
    assert body["title"].count("against 8 quiet seconds") == 1
    assert "+50.0% kubelet" in necroscope(*words).stdout


def test_scope_draws_the_spike(necroscope: Run, document: Document, store: Path) -> None:
    body = document("scope", "--store", store, "--cpu", "1", "--rows", "10", exit_code=0)
    per_second = [sum(body["cells"][c * 10 : c * 10 + 10]) for c in range(body["columns"])]
    assert per_second[:12] == [0] * 6 + [HERTZ] * 3 + [0] * 3
    text = necroscope("scope", "--store", store, env={"COLUMNS": "60"}).stdout
    assert "node-17" in text and "of idle cores left out" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 60


@pytest.mark.parametrize("suffix", ["svg", "folded", "speedscope.json", "pb.gz"])
def test_files_are_written_once(necroscope: Run, store: Path, tmp_path: Path, suffix: str) -> None:
    output = tmp_path / f"out.{suffix}"
    assert necroscope("flame", "--store", store, "-o", output).returncode == 0
    assert output.stat().st_size > 50
    again = necroscope("flame", "--store", store, "-o", output)
    assert (again.returncode, "-f overwrites it" in again.stderr) == (2, True)


def test_an_unknown_format_is_named(necroscope: Run, store: Path, tmp_path: Path) -> None:
    done = necroscope("flame", "--store", store, "-o", tmp_path / "out.gif")
    assert done.returncode == 2 and ".svg" in done.stderr


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty"),
        (b"just some words\nand more\n", "not"),
        (b"PERFILE2", "cut off"),
        (b"2ELIFREP" + bytes(200), "big-endian"),
        (b"PERFILE2" + bytes(200), "perf.data"),
        (b"\x7fELF" + bytes(500), "not"),
    ],
)
def test_what_is_no_capture(necroscope: Run, tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "x.data"
    path.write_bytes(content)
    done = necroscope("import", path, "--store", tmp_path / "store")
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr and "Traceback" not in done.stderr
    assert not list((tmp_path / "store").rglob("*.parquet")), "nothing is left of it"


def test_a_folder_and_a_missing_file(necroscope: Run, tmp_path: Path) -> None:
    for path, says in ((tmp_path, "folder"), (tmp_path / "none", "No such file")):
        done = necroscope("import", path, "--store", tmp_path / "store")
        assert done.returncode == 2 and says in done.stderr


@pytest.mark.parametrize("verb", ["scope", "flame"])
def test_nothing_there_is_exit_3(necroscope: Run, store: Path, tmp_path: Path, verb: str) -> None:
    for words in (
        ("--store", tmp_path / "none"),
        ("--store", store, "--cpu", "77"),
        ("--store", store, "-b", "2001-01-01", "-e", "2001-01-02"),
        ("--store", store, "--host", "elsewhere"),
    ):
        done = necroscope(verb, *words)
        assert done.returncode == 3, words
        assert "Traceback" not in done.stderr


def test_a_range_the_wrong_way_round(necroscope: Run, store: Path) -> None:
    assert necroscope("flame", "--store", store, "-b", "+5s", "-e", "+2s").returncode == 2


@pytest.mark.parametrize("name", ["samples", "stacks", "frames", "tasks", "events"])
@pytest.mark.parametrize("damage", ["empty", "half", "noise", "missing"])
def test_a_damaged_segment_is_named(necroscope: Run, store: Path, name: str, damage: str) -> None:
    (path,) = store.rglob(f"{name}.parquet")
    whole = path.read_bytes()
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes({"empty": b"", "half": whole[: len(whole) // 2], "noise": bytes(len(whole))}[damage])
    done = necroscope("flame", "--store", store)
    assert done.returncode == 2, done.stdout
    assert "profile" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": 99}', '{"schema": 1}'])
def test_a_damaged_description_is_named(necroscope: Run, store: Path, text: str) -> None:
    (path,) = store.rglob("segment.json")
    path.write_text(text)
    done = necroscope("scope", "--store", store)
    assert done.returncode == 2 and "segment.json" in done.stderr


def test_names_cannot_leave_the_store(document: Document, capture: Path, tmp_path: Path) -> None:
    body = document("import", capture, "--store", tmp_path / "store", "--host", "../../escape", exit_code=0)
    assert Path(body["segments"][0]["folder"]).is_relative_to(tmp_path / "store")


def test_json_is_one_object(necroscope: Run, store: Path) -> None:
    for verb in ("scope", "flame"):
        assert json.loads(necroscope(verb, "--store", store, "--json").stdout)["verb"] == verb
