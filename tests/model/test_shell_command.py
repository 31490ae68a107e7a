from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from necroscope.model.shell_command import (
    necroscope_command,
    option,
    shell_command,
    shell_comment,
    shell_word,
    write_file_command,
)

# zsh and ksh where they are there; dash understands all words that can be seen.
SHELLS = [shell for shell in ("bash", "zsh", "ksh", "mksh") if shutil.which(shell)]
PRINT = "printf '%s\\0' "
BYTES = st.binary(max_size=12).map(lambda data: os.fsdecode(data.replace(b"\0", b"")))
WORDS = st.lists(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])) | BYTES, max_size=20
)
SEEN = st.lists(st.text(st.characters(codec="ascii", exclude_categories=["Cc"])), max_size=20)


def read_by(shell: str, command: str, **environment: str) -> list[str]:
    done = subprocess.run(
        [str(shutil.which(shell)), "-c", command],
        capture_output=True,
        env={"PATH": "/nowhere", **environment},
        check=True,
    )
    return [os.fsdecode(word) for word in done.stdout.split(b"\0")[:-1]]


@settings(max_examples=40, deadline=None)
@given(WORDS)
def test_a_shell_reads_the_same_words(words: list[str]) -> None:
    for shell in SHELLS:
        for locale in ("C", "C.UTF-8"):
            command = PRINT + " ".join(map(shell_word, words or [""]))
            assert command.isprintable()
            assert read_by(shell, command, LC_ALL=locale) == (words or [""])


@settings(max_examples=40, deadline=None)
@given(SEEN)
def test_words_that_can_be_seen_are_for_every_shell(words: list[str]) -> None:
    command = PRINT + " ".join(map(shell_word, words or [""]))
    assert shlex.split(command)[2:] == (words or [""])
    if shutil.which("dash"):
        assert read_by("dash", command) == (words or [""])


def test_ordinary_names_stay_readable() -> None:
    assert shell_word("/dev/shm/ring-1.dat") == "/dev/shm/ring-1.dat"
    assert shell_word("/dev/shm/a b") == "'/dev/shm/a b'"
    assert shell_word("dev-disk-by\\x2duuid.swap") == "'dev-disk-by\\x2duuid.swap'"
    assert shell_word("") == "''"
    assert shell_word("=ls") == "'=ls'", "zsh would look for a program"


def test_what_cannot_be_seen_is_never_printed_raw() -> None:
    assert shell_word("a\nrm -rf x") == r"$'a\nrm -rf x'"
    assert shell_word("\x1b[2J\u202e'") == r"$'\033[2J\342\200\256\''"
    assert shell_word("\udcff") == r"$'\377'"


def test_a_word_cannot_be_cut_short() -> None:
    assert read_by("bash", PRINT + shell_word("/etc/passwd\0.old")) == ["/etc/passwd\\x00.old"]


def test_names_stand_behind_two_hyphens() -> None:
    assert (
        shell_command(["systemctl", "stop"], ["-.mount", "a.service"])
        == "systemctl stop -- -.mount a.service"
    )
    assert shell_command(["echo", "1"], into="/a b") == "echo 1 >'/a b'"


def test_our_own_commands_look_as_they_are_typed() -> None:
    assert (
        necroscope_command("fix", ["disable-unit", "a"], ["--apply"])
        == "necroscope fix disable-unit a --apply"
    )
    assert (
        necroscope_command("fix", ["disable-unit", "-.mount"], ["--apply"])
        == "necroscope fix --apply -- disable-unit -.mount"
    )
    assert necroscope_command("fleet request", ["-x"], ["-b", "1"]) == "necroscope fleet request -b 1 -- -x"
    assert option("--store", "-x") == ("--store=-x",) and option("--store", "x") == ("--store", "x")


@pytest.mark.parametrize(
    "text", ["$(touch pwned)", "a; touch pwned", "a\ntouch pwned", "`touch pwned`", "it's"]
)
def test_a_comment_does_nothing_even_if_the_shell_knows_no_comments(text: str, tmp_path: Path) -> None:
    for line in (shell_comment(text), shell_comment(text).removeprefix("# ").join(("true ", ""))):
        subprocess.run(["bash", "-c", line], cwd=tmp_path, check=True)
    assert not list(tmp_path.iterdir()) and shell_comment(text).isprintable()
    assert shell_comment("agent, pid 4711") == "# agent, pid 4711"


@pytest.mark.parametrize(
    "text", ["[Service]\n\nA=1\nEND\n", "no end", "a'b\"c $x `id` \\ !\n", "\u202e\t\x1b\n\n", "", "\n"]
)
def test_a_file_is_written_as_it_is(text: str, tmp_path: Path) -> None:
    path = tmp_path / "a 'file'"
    command = write_file_command(str(path), text)
    indented = "\n".join(f"     {line}" for line in command.split("\n"))  # as a plan prints it
    for line in (command, indented):
        subprocess.run(["bash", "-c", line], check=True)
        assert path.read_text() == text
