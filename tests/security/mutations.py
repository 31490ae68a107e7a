"""Damage files of every kind that we read, many times, and run the verbs that read them.

    python -m tests.security.mutations KIND COUNT SEED

Prints one JSON object: how many were tried, the failures, and the most memory that was used. A mutation that
hangs for 10 s ends the process with a traceback, and the file named in `doing` says which one it was.
"""

from __future__ import annotations

import faulthandler
import io
import json
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab.snapshots import write_snapshot
from necroscope.cli.main import main
from necroscope.model.snapshot import Snapshot
from necroscope.remedies.plan.plan_document import plan_text
from tests.cli.test_recorded_verbs import build
from tests.fleet.questions.hosts_of_facts import write_hosts
from tests.fleet.questions.test_drift import make_hosts
from tests.remedies.trees import make_tree, plan_for, tree_remedy
from tests.security.made_captures import most_memory_bytes

CAPTURES = Path(__file__).parents[2] / "native/core/tests/data"
EXIT_CODES = (0, 1, 2, 3, 4)
MAX_SECONDS = 10
FLEET_RANGE = ("-b", "2026-04-15T10:00:00Z", "-e", "2026-04-15T14:00:00Z")


@dataclass(frozen=True, slots=True)
class Subject:
    """Files that are read, one of which is damaged each time, and the commands that read them."""

    files: tuple[Path, ...]
    commands: tuple[tuple[str, ...], ...]
    fresh: tuple[Path, ...] = field(default=())  # folders that are made again after each


def captures(folder: Path) -> Subject:
    """perf.data of three kinds."""
    files = tuple(Path(shutil.copy(path, folder)) for path in sorted(CAPTURES.glob("*.data")))
    store = folder / "store"
    commands = tuple(("import", str(path), "--store", str(store), "--json") for path in files)
    return Subject(files, commands, (store,))


def segments(folder: Path) -> Subject:
    """A store with sealed segments, one of them with samples."""
    store = build(folder / "store")
    _quietly(["import", str(CAPTURES / "file.data"), "--store", str(store), "--host", "node-17"])
    sealed = [path.parent for path in store.glob("*/*/segment.json") if '"sealed"' in path.read_text()]
    files = tuple(sorted(path for one in sealed for path in one.rglob("*") if path.is_file()))
    return Subject(files, tuple((verb, "--store", str(store), "--json") for verb in ("timeline", "flame")))


def journals(folder: Path) -> Subject:
    """The journal and the description of an open segment, which is then sealed."""
    store = build(folder / "store")
    (segment,) = [path.parent for path in store.glob("*/*/journal.frames")]
    files = (segment / "journal.frames", segment / "journal.frames", segment / "segment.json")
    commands = tuple((verb, "--store", str(store), "--json") for verb in ("events", "seal"))
    return Subject(files, commands, (segment,))


def plans(folder: Path) -> Subject:
    """A plan of a fix, for an image."""
    image = make_tree(folder / "image")
    plan = folder / "plan.json"
    plan.write_text(plan_text(plan_for(image)))
    words = ("--root", str(image), "--store", str(folder / "store"), "--plan", str(plan), "--json")
    return Subject((plan,), (("fix", *words), ("fix", *words, "--apply")), (image, folder / "store-fixes"))


def undo_records(folder: Path) -> Subject:
    """The record of a fix of an image, which is then undone."""
    image, store = make_tree(folder / "image"), folder / "store"
    plan = folder / "plan.json"
    plan.write_text(plan_text(plan_for(image)))
    place = ("--root", str(image), "--store", str(store))
    _quietly(["fix", *place, "--plan", str(plan), "--apply"])
    records = folder / "store-fixes"
    (record,) = [path.parent for path in records.glob("*/journal")]
    commands = (("fix", *place, "--list", "--json"), ("fix", *place, "--undo", record.name, "--json"))
    return Subject((record / "plan.json", record / "journal"), commands, (image, records))


def snapshots(folder: Path) -> Subject:
    """Two snapshots that are compared."""
    units = {"ecs.service/runs": "running", "ecs.service/enabled": "enabled"}
    sick = write_snapshot(
        Snapshot("host-b", {"units": units, "site": {"motto": "old"}}, {}), folder / "b.json"
    )
    sound = write_snapshot(Snapshot("host-a", {"site": {"motto": "new"}}, {}), folder / "a.json")
    return Subject((sick, sound), (("drift", str(sick), str(sound), "--json"),))


def bucket(folder: Path) -> Subject:
    """The tables of a fleet."""
    place = folder / "fleet"
    place.mkdir()
    write_hosts(place, make_hosts())
    files = tuple(sorted(path for path in place.rglob("*") if path.is_file()))
    questions = (
        ("fleet", name, "--fleet", str(place), *FLEET_RANGE, "--json") for name in ("where", "drift")
    )
    return Subject(files, tuple(questions))


KINDS: dict[str, Callable[[Path], Subject]] = {
    make.__name__: make for make in (captures, segments, journals, plans, undo_records, snapshots, bucket)
}


def run(kind: str, count: int, seed: int) -> dict[str, Any]:
    """Try so many mutations of one kind."""
    failures: list[str] = []
    dice = random.Random(seed)
    slowest = 0.0
    with tree_remedy(), tempfile.TemporaryDirectory(prefix="necroscope-mutations-") as name:
        folder = Path(name)
        subject = KINDS[kind](folder)
        saved = folder / "saved"
        for path in subject.fresh:
            _copy(path, saved / path.name)
        for number in range(count):
            path = dice.choice(subject.files)
            whole = path.read_bytes()
            how, damaged = mutated(whole, dice)
            path.write_bytes(damaged)
            begin = time.monotonic()
            for command in subject.commands:
                failures += [f"{path.name}, {number}, {how}: {why}" for why in _wrong(command)]
            slowest = max(slowest, time.monotonic() - begin)
            if path.parent.exists():
                path.write_bytes(whole)
            for fresh in subject.fresh:
                _copy(saved / fresh.name, fresh)
    return {
        "tried": count,
        "failures": failures[:50],
        "slowest_seconds": round(slowest, 2),
        "megabytes": most_memory_bytes() >> 20,
    }


def mutated(data: bytes, dice: random.Random) -> tuple[str, bytes]:
    """Damage some bytes: as a disk would, as a crash would, or as somebody who knows the format."""
    how = dice.choice([flip, flip, cut, zero, double, insert, numbers, numbers, words, nest])
    return how.__name__, bytes(how(bytearray(data or b"\0"), dice))


def flip(data: bytearray, dice: random.Random) -> bytearray:
    for _ in range(dice.choice([1, 1, 3, 30])):
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    return data


def cut(data: bytearray, dice: random.Random) -> bytearray:
    return data[: dice.randrange(len(data))]


def zero(data: bytearray, dice: random.Random) -> bytearray:
    begin = dice.randrange(len(data))
    end = min(len(data), begin + dice.choice([1, 8, 512, 4096]))
    data[begin:end] = bytes(end - begin)
    return data


def double(data: bytearray, dice: random.Random) -> bytearray:
    begin, end = sorted(dice.randrange(len(data) + 1) for _ in range(2))
    return data[:end] + data[begin:end] * dice.choice([1, 2, 50]) + data[end:]


def insert(data: bytearray, dice: random.Random) -> bytearray:
    place = dice.randrange(len(data) + 1)
    return data[:place] + dice.randbytes(dice.choice([1, 4, 100])) + data[place:]


def numbers(data: bytearray, dice: random.Random) -> bytearray:
    """Put a number that is large, negative or just too much where one may be."""
    size = dice.choice([1, 2, 4, 8])
    value = dice.choice([0, 1, 2 ** (8 * size) - 1, 2 ** (8 * size - 1), 2 ** (8 * size - 1) - 1])
    place = dice.randrange(len(data))
    data[place : place + size] = value.to_bytes(size, "little")
    return data


def words(data: bytearray, dice: random.Random) -> bytearray:
    """Put another value in place of a word of JSON."""
    marks = [place for place, byte in enumerate(data[: 1 << 16]) if byte in b'":,[{']
    if not marks:
        return flip(data, dice)
    begin = dice.choice(marks)
    end = next((p for p in range(begin + 1, len(data)) if data[p] in b',]}":'), len(data))
    odd = [
        b"null",
        b"[]",
        b"{}",
        b"-1",
        b"1e999",
        b"9" * 400,
        b'"\\ud800"',
        b'"' + b"A" * 70000 + b'"',
        b"true",
    ]
    return data[: begin + 1] + dice.choice([*odd, b'"../../../../etc/passwd"', b'"\\u0000"']) + data[end:]


def nest(data: bytearray, dice: random.Random) -> bytearray:
    place = dice.randrange(len(data) + 1)
    return data[:place] + dice.choice([b"[", b'{"a":']) * 100_000 + data[place:]


def _wrong(command: Sequence[str]) -> Iterable[str]:
    code, out, err = _quietly(command)
    if code not in EXIT_CODES:
        yield f"{command[0]}: exit code {code}"
    if "Traceback" in err or "internal error" in err or '"internal"' in out:
        yield f"{command[0]}: {err[-400:]} {out[-400:]}"
    try:
        json.loads(out)
    except ValueError:
        yield f"{command[0]}: not JSON: {out[:80]!r} {err[-200:]!r}"


def _quietly(command: Sequence[str]) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    faulthandler.dump_traceback_later(MAX_SECONDS, exit=True)
    try:
        with redirect_stdout(out), redirect_stderr(err):
            code = main(list(command))
    finally:
        faulthandler.cancel_dump_traceback_later()
    return code, out.getvalue(), err.getvalue()


def _copy(source: Path, target: Path) -> None:
    if target.exists():
        shutil.rmtree(target)
    if source.exists():
        shutil.copytree(source, target, symlinks=True)


if __name__ == "__main__":
    kind_name, how_many, first_seed = sys.argv[1:]
    print(json.dumps(run(kind_name, int(how_many), int(first_seed))))  # noqa: T201
