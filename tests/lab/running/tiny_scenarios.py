"""Scenarios of a few lines, made for one test each."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from lab.running.outcome import Outcome
from lab.running.run import run
from lab.running.scenario import Scenario, all_scenarios
from lab.running.stage import Stage

ROOT = Path(__file__).parents[3]
AS_ROOT = "not root" if os.geteuid() != 0 else None
HOLDS = '[[expect]]\nthat = "it says one"\nresult = "number"\nequals = 1\n'
HEAD = """
import os, shutil, subprocess, sys, tempfile, time
from contextlib import ExitStack, contextmanager
from pathlib import Path

def play(stage):
"""


def make(top: Path, name: str, body: str, *, facts: str = "needs = []\nseconds = 1\n") -> Scenario:
    """Write a scenario whose play has this body."""
    folder = top / "scenarios" / name
    folder.mkdir(parents=True)
    (folder / "README.md").write_text(f"# The scenario {name}\n")
    (folder / "scenario.toml").write_text(facts)
    (folder / "expect.toml").write_text(HOLDS)
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    (folder / "make.py").write_text(HEAD + lines)
    return all_scenarios(top / "scenarios")[name.replace("_", "-")]


def play(top: Path, name: str, body: str, tell: Callable[[str], None] = print) -> Outcome:
    """Play such a scenario."""
    return run(make(top, name, body), Stage(folder=top / "run", tell=tell))


def start(top: Path, *words: str, first: str = "", stdout: int = subprocess.PIPE) -> subprocess.Popen[str]:
    """The command line with the scenarios of a test, in a process of its own; `first` is run before."""
    program = (
        "import signal, sys; from pathlib import Path; from lab.running.command_line import main;"
        f"signal.signal(signal.SIGINT, signal.default_int_handler);{first}\n"
        f"sys.exit(main(sys.argv[1:], Path({str(top / 'scenarios')!r})))"
    )
    words = (*words, "--output", str(top / "out")) if words and words[0] != "list" else words
    return subprocess.Popen(
        [sys.executable, "-c", program, *words],
        cwd=ROOT,
        stdout=stdout,
        stderr=subprocess.STDOUT,
        text=True,
    )


def call(top: Path, *words: str, first: str = "") -> tuple[int, str]:
    """Its exit code and all that it says."""
    process = start(top, *words, first=first)
    said, _ = process.communicate(timeout=120)
    return process.returncode, said
