"""A policy that keeps `audit` busy, fills its memory or ends it.

The attacks: 100,000 nested brackets or tables, devices, pipes and huge sparse files, 50,000
patterns, patterns that take a matcher for ever, and messages that repeat all of it.
"""

from __future__ import annotations

import datetime
import os
import resource
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from necroscope.errors import ConfigError
from necroscope.inventory.judge import judge
from necroscope.inventory.policy import MAX_PATTERNS, read_policy
from tests.cli.conftest import PROGRAM
from tests.inventories import inventory, unit

MEMORY_BYTES = 1 << 30
SECONDS = 10.0  # the program starts and looks at an image in 1 s; this machine may be busy
MANY = 100_000
EVIL: dict[str, str] = {
    "arrays": f"a = {'[' * MANY}",
    "arrays, a line each": "a = " + "[\n" * MANY,
    "arrays that end": f"a = {'[' * MANY}{']' * MANY}",
    "tables": "a = " + "{a=" * MANY,
    "tables, a line each": "a = [" + "{a=[\n" * MANY,
    "dots": f"{'a.' * MANY}a = 1",
    "dots in a table": f"[{'a.' * MANY}a]",
    "many dots": "".join(f"[a{number}.{'b.' * 400}b]\n" for number in range(1000)),
    "dots as the word for all others": f"others.{'a.' * 900}a = 1",
    "many patterns": "[allow]\n" + "".join(f'"a{number}*" = "x"\n' for number in range(50_000)),
    "many patterns in both": "".join(
        f"[{table}]\n" + "".join(f'"*{number}*" = "x"\n' for number in range(9_000))
        for table in ("allow", "forbid")
    ),
    "a long pattern": f'[allow]\n"{"*a" * 400}" = "x"',
    "a long value": "others = '''\n" + f"{'x' * 900}\n" * 1000 + "'''",
    "a long reason": f'[allow]\n"a*" = "{"x" * 900_000}"',
    "too large": "# x\n" * 400_000,
    "not text": "\x00\x01",
    "an unknown name": f'"{"n" * 900}" = 1',
}


def audit(path: Path | str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Gate an image with a policy, with bounds on time and memory."""
    return subprocess.run(
        [str(PROGRAM), "audit", "--root", tempfile.gettempdir(), "--policy", str(path)],
        capture_output=True,
        input=stdin,
        timeout=SECONDS,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES)),
    )


def check_refused(done: subprocess.CompletedProcess[bytes]) -> None:
    """A bad policy: exit code 2, and a message that a person can read."""
    assert done.returncode == 2, done.stderr[-500:]
    assert len(done.stderr) < 600 and b"Traceback" not in done.stderr and b"internal" not in done.stderr
    assert b"policy" in done.stderr


@pytest.mark.parametrize("text", EVIL.values(), ids=EVIL)
def test_a_policy_that_nobody_wrote(text: str, tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(text)
    check_refused(audit(path))
    before = time.process_time()
    with pytest.raises(ConfigError):
        read_policy(path)
    assert time.process_time() - before < 1


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/full", "/dev/tty", "/dev/kmsg"])
def test_devices(device: str) -> None:
    done = audit(device)
    assert done.returncode == 2
    assert any(why in done.stderr for why in (b"regular file", b"No such", b"not permitted")), done.stderr


def test_a_pipe_that_nobody_writes_to_a_folder_and_a_sparse_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "policy.pipe")
    (tmp_path / "policy.folder").mkdir()
    with (tmp_path / "policy.sparse").open("wb") as file:
        file.truncate(6 << 30)
    for path in tmp_path.iterdir():
        check_refused(audit(path))


def test_standard_input_is_bounded_too() -> None:
    done = audit("/dev/stdin", b"# x\n" * 400_000)
    assert done.returncode == 2 and b"larger than" in done.stderr


def test_as_many_patterns_as_are_allowed_are_matched_at_once(tmp_path: Path) -> None:
    """Each with as many stars as a matcher may go back over."""
    path = tmp_path / "policy.toml"
    stars = "*a" * 120
    rules = "".join(f'"{stars}{number}" = "x"\n' for number in range(MAX_PATTERNS))
    path.write_text(f"[allow]\n{rules}")
    names = [f"{'a' * 200}{number}.service" for number in range(20)]
    names += [f"agent-{number}.service" for number in range(300)]
    before = time.process_time()
    policy = read_policy(path)
    read = time.process_time() - before
    judged = judge(inventory(*(unit(name=name) for name in names)), (), policy, datetime.date(2026, 11, 16))
    assert len(judged.unused) == MAX_PATTERNS
    assert read < 2 and time.process_time() - before < 10
