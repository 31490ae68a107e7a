"""Records of fixes as an attacker would write them: of our form, with checksums that fit."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from necroscope.errors import RefusedError
from necroscope.model.fix import Fix, State
from necroscope.model.plan import Step, Treatment
from necroscope.remedies.apply.apply import continue_fix
from necroscope.remedies.apply.fixes_folder import fixes_folder
from necroscope.remedies.apply.journal import Entry, Happening, entry_line
from necroscope.remedies.apply.site import Site
from necroscope.remedies.apply.undo import undo
from necroscope.remedies.plan.make_plan import make_plan
from necroscope.remedies.plan.plan_document import plan_text
from tests.remedies.trees import listing

ETC = "/etc/systemd/system"
UNIT = "agent.service"
OFF = f"{ETC}/{UNIT}.d/zz-necroscope-off.conf"
LIMIT = f"{ETC}/{UNIT}.d/50-necroscope-limit.conf"
WANTS = f"{ETC}/multi-user.target.wants"
WANTED = f"{WANTS}/{UNIT}"
CONDITION = "[Unit]\nConditionPathExists=!/\n"
EVIL = "[Service]\nExecStart=/tmp/evil\n"
ID = "20260415T100211Z-disable-unit"
OURS = f"{os.geteuid()}:{os.getegid()}"
NOTHING: State = {"existed": "no", "folders made": ""}
USUAL = (Treatment("disable-unit", UNIT),)
WAYS: dict[str, Callable[[str, Site], Fix]] = {"--undo": undo, "--continue": continue_fix}
DEADLINE_SECONDS = 10.0


def make_image(root: Path) -> Path:
    """Make an image with a unit that is enabled, and with what an attacker would like to change."""
    for folder in ("usr/lib/systemd/system", "usr/bin", "etc/cron.d", "root/.ssh", f"{ETC}/{UNIT}.d", WANTS):
        (root / folder.lstrip("/")).mkdir(parents=True)
    text = "[Service]\nRestart=always\nExecStart=/bin/agent\n[Install]\nWantedBy=multi-user.target\n"
    (root / "usr/lib/systemd/system" / UNIT).write_text(text)
    (root / WANTED.lstrip("/")).symlink_to(f"/usr/lib/systemd/system/{UNIT}")
    for name in ("usr/bin/sh", "etc/passwd", "etc/shadow", "root/.bashrc", "root/.ssh/authorized_keys"):
        (root / name).write_text("the owner's\n")
    return root


def step(action: str, target: str, value: str) -> Step:
    """Return a step without the words that are only read."""
    return Step(action, target, value, "", "", "", "", "")


def before_of(mode: str = "0644", owner: str = OURS, text: str = CONDITION) -> State:
    """Return the state before of a file that was there."""
    return {"existed": "yes", "text": text, "mode": mode, "owner": owner, "folders made": ""}


def forge_file(
    site: Site,
    target: str,
    text: str,
    how: str,
    *,
    mode: str = "0644",
    treatments: Sequence[Treatment] = USUAL,
) -> str:
    """Write a record that has a file written, whatever is there now."""
    place = site.host.root / target.lstrip("/")
    there = place.read_text() if place.is_file() else ""
    value, before = (there, before_of(mode, text=text)) if how == "--undo" else (text, NOTHING)
    return forge(site, [step("write-file", target, value)], [before], how=how, treatments=treatments)


def forge(
    site: Site,
    steps: Sequence[Step],
    befores: Sequence[State],
    *,
    how: str = "--undo",
    treatments: Sequence[Treatment] = USUAL,
    folder: Path | None = None,
) -> str:
    """Write a record of our form, with the right checksums, of a fix that ended in the middle.

    All its steps were begun if it is to be undone: then nobody asks whether they are as it left them.
    """
    plan = replace(make_plan(site.host, (), (), ()), treatments=tuple(treatments), steps=tuple(steps))
    text = plan_text(plan).encode()
    begun = Entry(Happening.BEGUN, 1, "x", 0, "", tuple(befores), sha256(text).hexdigest())
    numbers = range(1, len(steps) + 1) if how == "--undo" else ()
    left = [Entry(Happening.STEP_BEGUN, 2, "x", number) for number in numbers]
    return forge_files(folder or fixes_folder(site.store), text, [begun, *left])


def forge_files(folder: Path, plan: bytes, entries: Sequence[Entry]) -> str:
    """Write the files of a record."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / ID).mkdir(mode=0o700)
    (folder / ID / "plan.json").write_bytes(plan)
    (folder / ID / "journal").write_bytes(b"".join(map(entry_line, entries)))
    return ID


def refused(site: Site, how: str, id: str = ID) -> str:
    """Return why root does not do what a record says; nothing is changed, and the refusal is logged."""
    before = listing(site.host.root)
    with pytest.raises(RefusedError, match=r"is not of a fix of ours: step \d+ ") as caught:
        WAYS[how](id, site)
    assert listing(site.host.root) == before
    assert caught.value.exit_code == 2 and "nothing was changed" in caught.value.hint
    lines = (fixes_folder(site.store) / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["what"] for line in lines] == ["refused"]
    return caught.value.what


@contextmanager
def in_time() -> Iterator[None]:
    """Fail instead of waiting for ever."""

    def fail(*_: object) -> None:
        raise AssertionError(f"it takes longer than {DEADLINE_SECONDS:g} s")

    usual = signal.signal(signal.SIGALRM, fail)
    signal.setitimer(signal.ITIMER_REAL, DEADLINE_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, usual)


def words(site: Site, *more: str) -> list[str]:
    """Return a command line of `fix` for the site."""
    return ["fix", *more, "--root", str(site.host.root), "--store", str(site.store)]
