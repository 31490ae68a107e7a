from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from necroscope.cli.main import build_parser
from tests.cli.conftest import PROGRAM, Run

Document = Callable[..., dict[str, Any]]


def test_help_opens_with_two_invocations_and_ends_with_exit_codes(necroscope: Run) -> None:
    text = necroscope("--help").stdout
    assert (
        text.index("necroscope doctor  ")
        < text.index("necroscope doctor -d 30s --json")
        < text.index("options:")
    )
    assert text.rstrip().endswith("130  interrupted")


@pytest.mark.parametrize(
    "words", [["--help"], ["doctor", "--help"], ["explain", "nic-reset", "cores"], ["list"]]
)
def test_everything_fits_a_terminal_of_60_columns(necroscope: Run, words: list[str]) -> None:
    text = necroscope(*words, env={"COLUMNS": "60"}).stdout
    assert max(map(len, text.splitlines())) <= 60


def test_a_hint_is_a_command_that_works(necroscope: Run) -> None:
    hint = necroscope("doctor", "-d", "soon").stderr.splitlines()[1].split()
    assert hint[0] == "necroscope"
    assert necroscope(*hint[1:]).returncode == 0


@pytest.mark.parametrize(
    "words", [[], ["docter"], ["doctor", "--wrong"], ["doctor", "-d", "soon"], ["list", "x"]]
)
def test_bad_usage_is_exit_2_with_a_hint_and_nothing_on_stdout(necroscope: Run, words: list[str]) -> None:
    done = necroscope(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("necroscope: ")
    assert len(done.stderr.splitlines()) == 2, "what, and a hint"
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("duration", ["0s", "500ms", "2h", "-3s", "ten", "1x", ""])
def test_durations_out_of_range(necroscope: Run, duration: str) -> None:
    assert necroscope("doctor", f"--duration={duration}").returncode == 2


def test_an_error_keeps_the_envelope(document: Document) -> None:
    body = document("doctor", "--root", "/nonexistent", exit_code=2)
    assert (body["ok"], body["verb"], body["error"]["slug"]) == (False, "doctor", "usage")


@pytest.mark.parametrize(
    "words",
    [
        "audit",
        "doctor",
        "fix",
        "fleet ship",
        "kubernetes show",
        "record",
        "seal",
        "snapshot",
        "verify",
        "zombies",
    ],
)
def test_in_a_container_the_host_is_looked_at(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def root(*more: str) -> Path:
        given = [*words.split(), *more]
        found: Path = build_parser(given[:1]).parse_args(given).root
        return found

    monkeypatch.delenv("NECROSCOPE_ROOT", raising=False)
    assert root() == Path("/")
    monkeypatch.setenv("NECROSCOPE_ROOT", "/usr")
    assert (root(), root("--root", "/etc")) == (Path("/usr"), Path("/etc"))


def test_json_may_stand_before_the_verb(necroscope: Run) -> None:
    assert necroscope("--json", "list", "events").stdout.startswith(
        '{"schema": 1, "verb": "list", "ok": true'
    )


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = f"{shlex.quote(str(PROGRAM))} list rules | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] in ("0", "141")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions(necroscope: Run, shell: str) -> None:
    script = necroscope("completions", shell).stdout
    assert "doctor" in script and "--duration" in script


def test_bash_accepts_its_completions(necroscope: Run) -> None:
    script = necroscope("completions", "bash").stdout
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)
