"""The live view: lines that fit, and a terminal that is left clean."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import termios
import time
from pathlib import Path

import pytest

from lab.running.live_lines import Load, core_line, loads, value_line
from lab.running.live_view import live_view, watched
from lab.running.stage import Stage
from necroscope.sources.cores import CoreTime


@pytest.mark.parametrize("count", [1, 2, 4, 8, 38, 96, 512])
@pytest.mark.parametrize("columns", [60, 80, 200])
def test_every_core_fits(count: int, columns: int) -> None:
    cores = [Load(core, 1.0 if core == count - 1 else 0.0, 0.0) for core in range(count)]
    line = core_line(cores, columns)
    assert len(line) <= columns
    assert "█" in line.replace("█ kernel", ""), "the one full core of many can be seen"


def test_shares_of_a_core() -> None:
    before = (CoreTime(0, 0, 0, 0, 0, 0, 0, 0, 0), CoreTime(1, 0, 0, 0, 0, 0, 0, 0, 0))
    after = (CoreTime(1, 20, 5, 40, 20, 5, 4, 6, 0),)
    assert loads(before, after) == (Load(1, 0.5, 0.25),)
    assert core_line(loads(before, after), 60).startswith("1 ████████▒▒▒▒····")


def test_values_are_cut_where_the_line_ends() -> None:
    assert value_line(1234, [("job", "step 3")], 60) == "zombies 1,234 | job step 3"
    assert value_line(None, [("job", "step 3")], 60) == "job step 3"
    own = [("zombies", "7"), ("job", "step 3")]
    assert value_line(1234, own, 60) == "zombies 7 | job step 3"  # the scenario's own count, and only that
    line = value_line(5, [("name", "x" * 80)], 60)
    assert len(line) == 60 and line.endswith("…")


def test_a_terminal_of_60_columns(tmp_path: Path) -> None:
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    stage = Stage(folder=tmp_path)

    def broken() -> str:
        raise ValueError

    with (
        stage.gauge("job", lambda: "step 3"),
        stage.gauge("odd", broken),
        live_view(follower) as view,
        watched(view, stage),
    ):
        view.tell("a line that stays")
        time.sleep(2.3)
        view.tell("a long line " * 10)
    os.close(follower)
    shown = _screen(_all_of(leader))
    assert next(line for line in shown if line.strip()).endswith("a line that stays")
    assert "job step 3" not in "\n".join(shown), "the lines below are erased in the end"
    assert all(len(line) <= 60 for line in shown)


def test_off_a_terminal_there_are_only_told_lines(tmp_path: Path) -> None:
    with (
        (tmp_path / "out").open("wb") as file,
        live_view(file.fileno()) as view,
        watched(view, Stage(folder=tmp_path)),
    ):
        view.tell("first")
        time.sleep(1.2)
        view.tell("second")
    assert (tmp_path / "out").read_text() == "    0 s first\n    1 s second\n"


def _all_of(leader: int) -> str:
    data = b""
    while True:
        try:
            block = os.read(leader, 65536)
        except OSError:  # the other end is closed, and all is read
            return data.decode()
        data += block
        if not block:
            return data.decode()


def _screen(text: str) -> list[str]:
    """What a terminal shows of it: only line ends, erasing a line, and going up."""
    assert "job step 3 | odd (ValueError)" in text
    lines, row = [""], 0
    place = 0
    while place < len(text):
        if text.startswith("\x1b[2K", place):
            lines[row], place = "", place + 4
        elif text.startswith("\x1b[1A", place):
            row, place = max(row - 1, 0), place + 4
        elif text[place] == "\n":
            row, place = row + 1, place + 1
            lines += [""] * (row + 1 - len(lines))
        else:
            lines[row] += "" if text[place] == "\r" else text[place]
            place += 1
    return lines
