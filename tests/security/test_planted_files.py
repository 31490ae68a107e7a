"""Attack: whoever may write to a folder plants a link, a pipe or a device where root will read or write.

A service account owns the recordings; other users own /tmp and their homes. Root runs the verbs.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from necroscope.cli import rules
from necroscope.cli.main import main
from necroscope.cli.output_file import write_output
from necroscope.errors import UsageError
from necroscope.store.durable import write_durably
from tests.stored import open_segment, seconds_of
from tests.unprivileged import NOBODY

MOMENTS = seconds_of(["idle"] * 6)
SECRET = "root's own\n"
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def run(*words: str | Path, umask: int = 0o022) -> subprocess.CompletedProcess[str]:
    """Run the program as its own process, which a pipe may hold up for ever."""
    command = [sys.executable, "-m", "necroscope", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, umask=umask)


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_text(SECRET)
    return path


def test_a_file_is_not_written_through_a_link_with_a_name_that_can_be_guessed(
    tmp_path: Path, secret: Path
) -> None:
    for name in ("out", ".out.partial"):
        (tmp_path / name).symlink_to(secret)
    write_durably(tmp_path / "out", b"ours\n")
    assert (tmp_path / "out").read_text() == "ours\n"
    assert not (tmp_path / "out").is_symlink()
    assert secret.read_text() == SECRET


def test_sealing_writes_through_no_link(tmp_path: Path, secret: Path) -> None:
    folder = open_segment(tmp_path / "store", MOMENTS).folder
    (folder / ".segment.json.partial").symlink_to(secret)
    (folder.parent / "..index.json.partial").symlink_to(secret)
    assert main(["seal", "--store", str(tmp_path / "store"), "--budget", "1G"]) == 0
    assert json.loads((folder / "segment.json").read_text())["state"] == "sealed"
    assert secret.read_text() == SECRET


def test_an_output_replaces_a_link_and_not_what_it_leads_to(tmp_path: Path, secret: Path) -> None:
    link = tmp_path / "rules.json"
    link.symlink_to(secret)
    assert main(["rules", "grafana", "-o", str(tmp_path), "-f"]) == 0
    (made,) = [path for path in tmp_path.iterdir() if path.suffix == ".json" and path != link]
    made.unlink()
    made.symlink_to(secret)
    assert main(["rules", "grafana", "-o", str(tmp_path)]) == 2
    assert main(["rules", "grafana", "-o", str(tmp_path), "-f"]) == 0
    assert not made.is_symlink()
    assert secret.read_text() == SECRET


def test_the_mode_of_a_program_is_not_set_through_a_link(
    tmp_path: Path, secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Laid by the folder's owner as soon as the program is there."""
    secret.chmod(0o600)
    programs: list[Path] = []

    def write_and_swap(path: Path, data: bytes, **more: Any) -> None:
        write_output(path, data, **more)
        if data.startswith(b"#!"):
            programs.append(path)
            assert path.stat().st_mode & 0o111
            path.unlink()
            path.symlink_to(secret)

    monkeypatch.setattr(rules, "write_output", write_and_swap)
    assert main(["rules", "npd", "-o", str(tmp_path / "rules")]) == 0
    assert programs and stat.S_IMODE(secret.stat().st_mode) == 0o600


def test_an_output_to_a_device_does_not_replace_it() -> None:
    write_output(Path("/dev/null"), b"x", force=True)
    assert stat.S_ISCHR(Path("/dev/null").lstat().st_mode)


@as_root
def test_an_output_to_a_pipe_of_another_user_is_refused(tmp_path: Path) -> None:
    """It would block us, and its owner would read what we write."""
    pipe = tmp_path / "out"
    os.mkfifo(pipe)
    os.chown(pipe, NOBODY, NOBODY)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(UsageError, match="out belongs to another user"):
            write_output(pipe, b"kernel addresses", force=True)
        assert os.read(reader, 100) == b""
    finally:
        os.close(reader)


@pytest.mark.parametrize("name", ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"])
def test_what_is_piped_in_is_read_by_any_of_its_names(tmp_path: Path, name: str) -> None:
    command = [sys.executable, "-m", "necroscope", "audit", "--policy", name, "--root", str(tmp_path)]
    done = subprocess.run(
        command, input="[strange]\n", capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert f"{name}: unknown key 'strange'" in done.stderr


def test_an_output_to_stdout_does_not_replace_its_link(tmp_path: Path) -> None:
    code = "from pathlib import Path; from necroscope.cli.output_file import write_output as w; "
    code += "w(Path('/dev/stdout'), b'ours', force=True)"
    before = Path("/dev/stdout").readlink()
    with (tmp_path / "redirected").open("wb") as file:
        subprocess.run([sys.executable, "-c", code], stdout=file, check=True, timeout=60)
    assert Path("/dev/stdout").readlink() == before
    assert (tmp_path / "redirected").read_bytes() == b"ours"


def pipe(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))  # /dev/zero never ends


def link_to_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


FILES = ["segment.json", "journal.frames", "perf.data", "../.index.json", "../.recorder"]
SEALED = ["events.parquet", "counters/*.parquet"]
KINDS = [
    pipe,
    link_to_device,
    pytest.param(device, marks=pytest.mark.skipif(os.geteuid() != 0, reason="needs root")),
]


@pytest.mark.parametrize("plant", KINDS)
def test_no_verb_waits_for_what_was_planted_in_a_store(tmp_path: Path, plant: Callable[[Path], None]) -> None:
    store = tmp_path / "store"
    sealed = open_segment(store, MOMENTS).folder
    assert main(["seal", "--store", str(store)]) == 0
    for number, name in enumerate(FILES):
        folder = open_segment(store, MOMENTS, host=f"node-{number}").folder
        (folder / name).unlink(missing_ok=True)
        plant(folder / name)
    for number, pattern in enumerate(SEALED):
        folder = store / f"sealed-{number}/20260415T100000Z"
        shutil.copytree(sealed, folder)
        for path in folder.glob(pattern):
            path.unlink()
            plant(path)
    for verb in (["timeline"], ["events"], ["flame"], ["seal", "--budget", "1G"], ["events", "--all-hosts"]):
        done = run(*verb, "--store", store, "--json")
        assert done.returncode in (0, 1, 2, 3), done.stderr
        assert "Traceback" not in done.stderr
        json.loads(done.stdout)


@as_root
@pytest.mark.parametrize("whose", ["the store", "its parent", "everyone's"])
@pytest.mark.parametrize("verb", ["seal", "record", "import"])
def test_root_does_not_write_where_others_could_lay_links(tmp_path: Path, whose: str, verb: str) -> None:
    store = tmp_path / "home/store"
    folder = open_segment(store, MOMENTS).folder
    if whose == "everyone's":
        store.chmod(0o777)
    else:
        os.chown(store if whose == "the store" else store.parent, NOBODY, NOBODY)
    (tmp_path / "folded").write_text("a;b 3\n")
    more = {"record": ["--rate", "0", "-d", "1s"], "import": [str(tmp_path / "folded")]}.get(verb, [])
    before = sorted(tmp_path.rglob("*"))
    done = run(verb, *more, "--store", store, "--json")
    body = json.loads(done.stdout)
    refusals = [body["error"]["what"]] if "error" in body else [one["what"] for one in body["refused"]]
    assert any("could replace" in one or "others may write" in one for one in refusals), body
    assert done.returncode == 2 or verb == "seal"
    assert sorted(tmp_path.rglob("*")) == before
    assert json.loads((folder / "segment.json").read_text())["state"] == "open"


@as_root
def test_a_recording_of_root_is_not_for_every_user(tmp_path: Path) -> None:
    store = tmp_path / "new/store"
    done = run("record", "--rate", "0", "-d", "2s", "--store", store, "--json")
    assert done.returncode in (0, 1), done.stderr
    made = [store.parent, store, *store.rglob("*")]
    assert len(made) > 5
    wide = [f"{path}: {path.stat().st_mode:o}" for path in made if path.stat().st_mode & 0o027]
    assert wide == []
    assert "every user can read" not in done.stderr


@as_root
def test_a_store_that_every_user_can_read_is_warned_about(tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir(mode=0o755)
    done = run("record", "--rate", "0", "-d", "1s", "--store", store)
    assert f"every user can read {store} (mode 0755)" in done.stderr
    assert f"chmod -R o= -- {store}" in done.stderr
