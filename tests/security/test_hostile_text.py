"""Names and lines that steer a terminal or disguise what stands around them.

The attacks: escape sequences, C1 control characters, line breaks, marks that turn the direction of writing
(U+202E) and invisible characters in the names of processes, units, devices, functions and hosts, and in lines
of the kernel log. Everything that we print, write or serve as text is looked at.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock
from urllib.parse import quote

import pytest

from lab.machines.image_roots import plant
from necroscope.cli import look_now
from necroscope.cli.main import main
from necroscope.cli.screen import Screen
from necroscope.exporter.exposition import render
from necroscope.exporter.families import Sample
from necroscope.inventory.snapshot import snapshot_text
from necroscope.kubernetes.conditions import conditions_of
from necroscope.model.snapshot import Snapshot
from necroscope.profiles.export import FORMATS
from necroscope.profiles.export.title import Title
from tests.cli.test_audit import IMAGE
from tests.cli.test_diagnose import moments
from tests.diagnosis.scenes import scene_of
from tests.exporter.exposition_parser import parse
from tests.kubernetes.test_conditions import found
from tests.kubernetes.test_pending_events import STALL, due, pending_events, take
from tests.profiles.export.flames import from_stacks
from tests.security.hostile_names import check_visible, hostile_store, renamed, strings
from tests.server.test_odd_stores import app_of, ask
from tests.stored import HOST, UTC_NS

HOSTILE = "\x1b[2J\x1b]0;x\x07\r\x7f\x9b2J\u202e\u2066\u200b\ufeff\u061c\xad\U000e0041\u3164\n## x"
ASTRAL = "\U000e0041"  # json writes it as two escapes, which TOML has not
RANGE = ("-b", "2026-04-15T10:00:00Z", "-e", "2026-04-15T10:00:40Z")
VERBS = (
    ("timeline",),
    ("events",),
    ("diagnose",),
    ("zombies", *RANGE),
    ("zombies", *RANGE, "--by", "process"),
    ("report",),
    ("flame",),
    ("culprit", *RANGE),
    ("verify",),
    ("fix", "--list"),
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hostile_store(tmp_path_factory.mktemp("hostile") / "store", HOSTILE)


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_what_a_verb_prints(words: tuple[str, ...], store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for more in ((), ("--json",)):
        main([*words, "--store", str(store), *more])
        said = capsys.readouterr()
        check_visible(said.out)
        check_visible(said.err)


@pytest.mark.parametrize("suffix", [".md", ".html"])
def test_the_files_of_a_report(suffix: str, store: Path, tmp_path: Path) -> None:
    file = tmp_path / f"report{suffix}"
    main(["report", "--store", str(store), "-o", str(file)])
    text = file.read_text()
    check_visible(text)
    assert suffix != ".md" or "\n## x" not in text, "a name is not a heading"


def test_doctor(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    names = {"ecs.service": f"{HOSTILE}.service", "kubelet": HOSTILE, "eth0": HOSTILE, "node": HOSTILE}
    segment = renamed(replace(scene_of(["idle"]).segment, moments=moments(), is_live=False), names)
    monkeypatch.setattr(look_now, "sample", lambda *_: segment)
    for more in ((), ("--json",)):
        assert main(["doctor", "--store", str(tmp_path), *more]) == 1
        said = capsys.readouterr()
        check_visible(said.out)
        check_visible(said.err)


def test_an_audit_in_every_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unit = "usr/lib/systemd/system/broken.service"
    named = {f"{unit}.d/{HOSTILE}.conf".replace("/usr", "usr"): f"[Unit]\nDescription={HOSTILE}\n"}
    plant(tmp_path / "image", {**IMAGE, **named})
    policy = tmp_path / "policy.toml"
    policy.write_text(f'[forbid]\n"broken*" = {json.dumps(HOSTILE.replace(ASTRAL, ""))}\n')
    for more in ((), ("--json",), ("--format", "sarif"), ("--format", "junit")):
        assert main(["audit", "--root", str(tmp_path / "image"), "--policy", str(policy), *more]) == 1
        check_visible(capsys.readouterr().out)


def test_snapshots_and_what_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for host, value in ((HOSTILE, HOSTILE), ("b", "b")):
        document = {"schema": 1, "kind": "necroscope-snapshot", "host": host}
        facts = {"site": {HOSTILE: value}, "sysctls": {"kernel.x": value}}
        (tmp_path / f"{value == 'b'}.json").write_text(json.dumps({**document, "facts": facts}))
    assert main(["drift", str(tmp_path / "True.json"), str(tmp_path / "False.json")]) == 0
    check_visible(capsys.readouterr().out)
    said = snapshot_text(Snapshot(HOSTILE, {"site": {HOSTILE: HOSTILE}}, {}))
    check_visible(said)
    assert json.loads(said)["facts"] == {"site": {HOSTILE: HOSTILE}}, "a file keeps what it is about"


def test_messages_that_name_what_somebody_else_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / HOSTILE.replace("/", "")
    place.mkdir()
    for words in (
        ("diagnose", "--store", str(place)),
        ("events", "--store", str(place), "--host", HOSTILE),
        ("drift", str(place), str(place)),
        ("audit", "--policy", str(place / "none")),
        ("explain", HOSTILE),
    ):
        assert main([*words]) in (2, 3)
        check_visible(capsys.readouterr().err)


@pytest.mark.parametrize("suffix", list(FORMATS))
def test_flame_graphs_as_files(suffix: str) -> None:
    graph = from_stacks([[([HOSTILE, f"{HOSTILE}@kernel@{HOSTILE}"], 3)]])
    data = FORMATS[suffix](graph, Title(HOSTILE, notes=(HOSTILE,)))
    if suffix == ".pb.gz":
        data = gzip.decompress(data)
        assert not [letter for letter in HOSTILE if letter > "\x7f" and letter.encode() in data]
        assert b"\x1b" not in data.replace(b"\x12\x1b", b"")
    else:
        check_visible(data.decode())


def test_metrics() -> None:
    twins = (HOSTILE, HOSTILE.replace("\x1b", "\\x1b"))
    family = "necroscope_unit_restarts_by_unit_total"
    text = render(Mock(samples=lambda: [Sample(family, (name,), 2) for name in twins]))
    check_visible(text)
    assert list(parse(text)[family].values.values()) == [4], "one series, or Prometheus drops all of them"


def test_what_a_cluster_is_told() -> None:
    state = found("core-saturated", "nic-reset")
    hostile = replace(state, findings=tuple(replace(one, summary=HOSTILE * 20) for one in state.findings))
    for condition in conditions_of(hostile, (), {}):
        check_visible(condition.message)
        assert len(condition.message) <= 500 and "\n" not in condition.message
    pending = pending_events()
    take(pending, replace(STALL, device=HOSTILE * 100))
    (series,) = due(pending, 1)
    check_visible(series.message)
    assert len(series.message) <= 1024 and series.message.endswith(f"necroscope flame --around {series.id}")


def test_colours_of_others_are_shown_and_not_used() -> None:
    """In black on black, a line would not be seen; on a terminal, our own colours pass."""
    ours = Screen(80, colour=True).paint("cause", "critical")
    shown = Screen(80, colour=True).shown(f"{ours} \033[30;40mhidden\033[8m \033[38;5;0m")
    assert shown.startswith(ours)
    check_visible(shown.removeprefix(ours))


def questions() -> Iterator[str]:
    begin, end = UTC_NS // 1000, UTC_NS // 1000 + 40 * 10**6
    for name in ("hosts", "events", "diagnosis", "zombies", "live", "flame", "nothing-like-it"):
        yield f"/api/{name}?host={HOST}&begin_us={begin}&end_us={end}"
    yield f"/api/events?host={quote(HOSTILE)}&begin_us={begin}&end_us={end}"


def test_what_the_page_is_answered(store: Path) -> None:
    app = app_of(store)
    for question in questions():
        answer = ask(app, question)
        for text in strings(json.loads(answer.body)):
            check_visible(text)
