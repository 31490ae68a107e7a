"""Attacks through the files that the names of functions come from.

Any user can leave `/tmp/perf-PID.map`, map any file of any name, and change it at any time: a pipe that never
ends, a link to somebody's secret, gigabytes of nothing, a binary that is cut off while it is read, a link of
a container to a file of the host, a name that stands for gigabytes.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread

import pytest

from tests.profiles import captures
from tests.security.made_captures import ANONYMOUS, BEGIN, SPIN, Mapped, capture, machine, program

PID, SOMEBODY = 7, 4711
SECONDS = 20
MAX_MEMORY_BYTES = 200 << 20
LIMIT_BYTES = 8 << 30  # so that the old code does not take all of this machine
SECRET = f"{BEGIN:x} 1000 the secret of root\n"
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away and make devices")


@dataclass(frozen=True, slots=True)
class Victim:
    """A process of a user, and its machine."""

    folder: Path
    root: Path

    @property
    def map(self) -> Path:
        """Where its map of run-time code is, outside of its own root."""
        return self.root / f"tmp/perf-{PID}.map"

    def names(self, path: str = ANONYMOUS, offsets: tuple[int, ...] = (0x100,), times: int = 1) -> list[str]:
        """Seal samples of it so many times, and return the names of the functions."""
        made = capture(self.folder / "capture", [Mapped(PID, path, offsets)])
        number = len(list(self.folder.glob("profile-*")))
        module = [sys.executable, "-m", "tests.security.made_captures"]
        command = [*module, str(made), str(self.folder / f"profile-{number}"), str(self.root)]
        command.append(str(times))
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (LIMIT_BYTES, LIMIT_BYTES)),
        )
        assert done.returncode == 0, f"it ended with {done.returncode}: {done.stderr[-300:]}"
        answer = json.loads(done.stdout)
        assert answer["memory_bytes"] < MAX_MEMORY_BYTES, f"{answer['memory_bytes']:,} bytes"
        names: list[str] = answer["names"]
        return names


@pytest.fixture
def victim(tmp_path: Path) -> Victim:
    return Victim(tmp_path, machine(tmp_path, PID, os.geteuid()))


def test_a_map_and_a_program_as_they_should_be(victim: Victim) -> None:
    victim.map.write_text(f"{BEGIN:x} 1000 made at run time\n")
    assert victim.names() == ["made at run time"]
    program(victim.folder / "inside/bin/hog", [("first", 0x100, 0x40), ("second", 0x140, 0x40)])
    assert victim.names("/bin/hog", (0x110, 0x150, 0x200)) == ["[hog+0x200]", "first", "second"]


def pipe(path: Path) -> None:
    os.mkfifo(path)


def link_to_a_secret(path: Path) -> None:
    (path.parent / "secret").write_text(SECRET)
    (path.parent / "secret").chmod(0o600)
    path.symlink_to(path.parent / "secret")


def another_name_of_a_secret(path: Path) -> None:
    (path.parent / "secret").write_text(SECRET)
    path.hardlink_to(path.parent / "secret")


def six_gigabytes(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(6 << 30)


def folder(path: Path) -> None:
    path.mkdir()


def link_to_a_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def device(path: Path) -> None:
    os.mknod(path, 0o20666, os.makedev(1, 5))  # /dev/zero


def of_another_user(path: Path) -> None:
    path.write_text(SECRET)
    os.chown(path, SOMEBODY, SOMEBODY)


PLANTED = [pipe, link_to_a_secret, another_name_of_a_secret, six_gigabytes, folder, link_to_a_device]


@pytest.mark.parametrize("inside", [False, True], ids=["outside", "inside"])
@pytest.mark.parametrize("plant", PLANTED)
def test_a_planted_map(victim: Victim, plant: Callable[[Path], None], inside: bool) -> None:
    plant(victim.folder / "inside/tmp/perf-1.map" if inside else victim.map)
    assert victim.names() == ["[anon]"]


@needs_root
@pytest.mark.parametrize("plant", [device, of_another_user])
def test_a_planted_map_that_takes_root_to_make(victim: Victim, plant: Callable[[Path], None]) -> None:
    plant(victim.map)
    assert victim.names() == ["[anon]"]


@needs_root
def test_a_map_of_the_process_s_own_user(victim: Victim) -> None:
    status = victim.root / f"proc/{PID}/status"
    status.write_text(status.read_text().replace("0\t0\t0\t0", "\t".join([str(SOMEBODY)] * 4)))
    of_another_user(victim.map)
    assert victim.names() == ["the secret of root"], "it is theirs"
    status.unlink()
    assert victim.names() == ["[anon]"], "the process has ended: nobody knows whose it was"


@pytest.mark.parametrize("plant", [pipe, six_gigabytes, folder, link_to_a_device])
def test_a_planted_program(victim: Victim, plant: Callable[[Path], None]) -> None:
    plant(victim.folder / "inside/bin/hog")
    assert victim.names("/bin/hog") == ["[hog+0x100]"]


@needs_root
def test_a_device_for_a_program(victim: Victim) -> None:
    device(victim.folder / "inside/bin/hog")
    assert victim.names("/bin/hog") == ["[hog+0x100]"]


@needs_root
def test_a_program_of_another_user_that_not_everybody_may_read(victim: Victim) -> None:
    hog = program(victim.folder / "inside/bin/hog", [("theirs", 0x100, 0x40)])
    os.chown(hog, SOMEBODY, SOMEBODY)
    assert victim.names("/bin/hog") == ["theirs"], "installed for all"
    hog.chmod(0o700)
    assert victim.names("/bin/hog") == ["[hog+0x100]"]


def test_a_link_out_of_a_container(victim: Victim) -> None:
    """An absolute link begins at the container's root, and `..` does not lead out of it."""
    program(victim.folder / "of-the-host", [("function of the host", 0x100, 0x40)])
    inside = victim.folder / "inside"
    (inside / "bin/absolute").symlink_to(victim.folder / "of-the-host")
    (inside / "bin/relative").symlink_to("../../of-the-host")
    (inside / "folder").symlink_to(victim.folder)
    for path in ("/bin/absolute", "/bin/relative", "/folder/of-the-host", "/../of-the-host"):
        assert victim.names(path) == [f"[{path.rpartition('/')[2]}+0x100]"], path
    program(inside / "bin/own", [("own function", 0x100, 0x40)])
    (inside / "lib").symlink_to("/bin")
    assert victim.names("/lib/own") == ["own function"]


def test_the_tmp_of_a_container_leads_nowhere_else(victim: Victim) -> None:
    (victim.folder / "elsewhere").mkdir()
    (victim.folder / "elsewhere/perf-1.map").write_text(SECRET)
    (victim.folder / "inside/tmp").rmdir()
    (victim.folder / "inside/tmp").symlink_to(victim.folder / "elsewhere")
    assert victim.names() == ["[anon]"]


def test_a_name_that_stands_for_gigabytes(victim: Victim) -> None:
    """Each pair is of two of the pairs before it: 24 of them, of ten letters each, are 1 GB."""
    pairs = "".join(f"S_IS{digit}_S{digit}_E" for digit in "0123456789ABCDEFGHIJKLMN")
    program(victim.folder / "inside/bin/hog", [(f"_Z1fSt4pairIiiE{pairs}", 0x100, 0x40)])
    (name,) = victim.names("/bin/hog")
    assert name.startswith("f(std::pair<int, int>, std::pair<std::pair<int") and len(name) <= 4096


def test_tables_with_more_sections_than_there_is_memory(victim: Victim) -> None:
    hog = program(victim.folder / "inside/bin/hog", [("first", 0x100, 0x40)])
    whole = bytearray(hog.read_bytes())
    sections = int.from_bytes(whole[40:48], "little")
    whole[sections + 128 + 32 : sections + 128 + 40] = (1 << 38).to_bytes(8, "little")  # of the symbols
    hog.write_bytes(whole)
    os.truncate(hog, 1 << 39)
    assert victim.names("/bin/hog") == ["[hog+0x100]"]


@contextmanager
def cut_off_again_and_again(path: Path) -> Iterator[None]:
    """Cut a file off and write it again, as its owner may at any time."""
    whole, ended = path.read_bytes(), Event()

    def cut_off() -> None:
        while not ended.is_set():
            os.truncate(path, 0)
            with path.open("r+b") as file:
                file.write(whole)
            time.sleep(0)

    thread = Thread(target=cut_off)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def test_a_program_that_is_cut_off_while_it_is_read(victim: Victim) -> None:
    """Mapped, it would end the reader by SIGBUS."""
    functions = [(f"function_{number}_{'x' * 200}", 16 * number, 16) for number in range(20_000)]
    hog = program(victim.folder / "inside/bin/hog", functions)
    offsets = tuple(range(0, 0x1000, 16))
    with cut_off_again_and_again(hog):
        names = victim.names("/bin/hog", offsets, times=200)
        assert all(name.startswith(("[hog", "function_")) for name in names)
    assert len(victim.names("/bin/hog", offsets)) == len(offsets)


def test_a_pipe_for_the_map_of_a_real_process(tmp_path: Path) -> None:
    """What blocked sealing and the threads of the server for ever."""
    captures.require_perf()
    if platform.machine() != "x86_64":
        pytest.skip("the loop is written in x86-64")
    with captures.running([sys.executable, "-c", SPIN]) as (process,):
        try:
            time.sleep(0.5)
            captures.record(tmp_path / "perf.data", 1, "-F", "499")
            module = [sys.executable, "-m", "tests.security.made_captures"]
            command = [*module, str(tmp_path / "perf.data"), str(tmp_path / "profile"), "/"]
            done = subprocess.run(command, capture_output=True, timeout=60, check=True)
        finally:
            Path(f"/tmp/perf-{process.pid}.map").unlink(missing_ok=True)
    assert "[anon]" in json.loads(done.stdout)["names"]
