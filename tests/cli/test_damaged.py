"""One damaged segment is left out and named; the others are shown."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from necroscope.store import store_place
from tests.cli.conftest import Document, Run
from tests.cli.test_recorded_verbs import RESET_ID, build, row
from tests.stored import sealed_segment, seconds_of

Harm = tuple[str, bytes | None]  # a file, and what is in it instead
SEGMENT = "node-17/20260415T100030Z"
INSIDE = ("-b", "2026-04-15T10:00:31Z", "-e", "2026-04-15T10:00:44Z")
damages = pytest.mark.parametrize(
    ("verb", "harm"),
    [
        ("timeline", ("counters/cores.parquet", b"PAR1 noise PAR1")),
        ("timeline", ("counters/cores.parquet", b"")),
        ("timeline", ("counters/cores.parquet", None)),
        ("events", ("events.parquet", b"PAR1 noise PAR1")),
        ("events", ("events.parquet", None)),
        ("timeline", ("events.parquet", None)),
        ("timeline", ("segment.json", b"{")),
        ("events", ("segment.json", b'{"schema": 1, "sta')),
        ("events", ("segment.json", b'{"schema": 99}')),
        ("events", ("segment.json", b"[]")),
    ],
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("stored") / "store")


@pytest.fixture
def store(built: Path, tmp_path: Path) -> Path:
    return shutil.copytree(built, tmp_path / "store")


def damage(segment: Path, harm: Harm) -> Path:
    name, data = harm
    path = segment / name
    path.unlink() if data is None else path.write_bytes(data)
    return path


@damages
def test_one_damaged_segment_is_left_out_and_named(
    necroscope: Run, document: Document, store: Path, verb: str, harm: Harm
) -> None:
    path = damage(store / SEGMENT, harm)
    body = document(verb, "--store", store)
    (told,) = body["damaged"]
    assert told["folder"] == str(store / SEGMENT)
    assert str(path) in told["what"]
    assert RESET_ID in [event["id"] for event in body["events"]], "of a segment that is whole"
    done = necroscope(verb, "--store", store)
    assert (done.returncode, done.stderr.count("\n")) == (0, 1)
    assert str(path) in done.stderr and "internal error" not in done.stderr


def test_its_seconds_are_not_recorded(document: Document, store: Path) -> None:
    damage(store / SEGMENT, ("counters/cores.parquet", None))
    body = document("timeline", "--store", store)
    assert row(body, 7) == "U" * 30 + " " * 15 + "U" * 45


@damages
def test_where_nothing_else_is_asked_for_it_is_an_error(
    necroscope: Run, store: Path, verb: str, harm: Harm
) -> None:
    """Of the range, and of the whole store."""
    path = damage(store / SEGMENT, harm)
    for folder in (store / "node-17").iterdir():
        if folder.name != "20260415T100030Z":
            shutil.rmtree(folder)
    for words in ((), INSIDE):
        done = necroscope(verb, "--store", store, *words)
        assert done.returncode == 2, done.stdout
        assert str(path) in done.stderr and "internal error" not in done.stderr


@damages
def test_a_range_that_is_all_damaged(necroscope: Run, store: Path, verb: str, harm: Harm) -> None:
    path = damage(store / SEGMENT, harm)
    done = necroscope(verb, "--store", store, *INSIDE)
    assert done.returncode == 2, done.stdout
    assert str(path) in done.stderr


def test_one_that_is_whole_is_not_damaged(document: Document, store: Path) -> None:
    assert document("timeline", "--store", store)["damaged"] == []
    assert document("events", "--store", store)["damaged"] == []


@pytest.fixture
def captures(necroscope: Run, tmp_path: Path) -> Path:
    """Three captures of one host, of the same seconds."""
    text = "".join(
        f"python   900/900   [000] {5000 + tick / 10:.6f}:   10101010 cpu-clock:ppp:\n"
        "\t          51aa00 train_step+0x10 (/usr/bin/python3.11)\n\n"
        for tick in range(50)
    )
    (tmp_path / "capture.txt").write_text(text)
    for _ in range(3):
        done = necroscope("import", tmp_path / "capture.txt", "--store", tmp_path / "captures", "--host", "n")
        assert done.returncode == 0, done.stderr
    return tmp_path / "captures"


@pytest.mark.parametrize("verb", ["flame", "scope"])
@pytest.mark.parametrize(
    "harm",
    [("profile/samples.parquet", None), ("profile/samples.parquet", b"PAR1"), ("segment.json", b"{")],
)
def test_a_damaged_profile_is_left_out(
    necroscope: Run, document: Document, captures: Path, verb: str, harm: Harm
) -> None:
    assert (body := document(verb, "--store", captures))["samples"] == 150 and body["damaged"] == []
    first, *others = sorted((captures / "n").iterdir())
    damage(first, harm)
    body = document(verb, "--store", captures)
    assert body["samples"] == 100
    assert [told["folder"] for told in body["damaged"]] == [str(first)]
    assert str(first) in necroscope(verb, "--store", captures).stderr
    for other in others:
        damage(other, harm)
    assert necroscope(verb, "--store", captures).returncode == 2


def test_an_event_in_a_damaged_segment_is_not_said_to_be_unknown(necroscope: Run, store: Path) -> None:
    path = damage(store / "node-17/20260415T100045Z", ("events.parquet", None))
    done = necroscope("flame", "--store", store, "--around", RESET_ID)
    assert done.returncode == 2 and str(path) in done.stderr


@pytest.fixture
def forbid(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Makes a folder that we may not list; root may, so it is made up."""
    scandir = os.scandir

    def make(folder: Path) -> None:
        def refuse(path: Any = ".") -> Any:
            if Path(path) == folder:
                raise PermissionError(13, "Permission denied", str(path))
            return scandir(path)

        monkeypatch.setattr(os, "scandir", refuse)

    return make


@pytest.mark.parametrize("verb", ["timeline", "events", "flame", "scope", "seal"])
def test_a_store_that_may_not_be_listed(
    necroscope: Run, store: Path, forbid: Callable[[Path], None], verb: str
) -> None:
    forbid(store)
    done = necroscope(verb, "--store", store)
    assert done.returncode == 3
    assert f"not permitted to read {store}\n" in done.stderr and "root" in done.stderr


@pytest.mark.parametrize("verb", ["timeline", "events", "flame", "scope"])
def test_a_host_that_may_not_be_listed(
    necroscope: Run, store: Path, forbid: Callable[[Path], None], verb: str
) -> None:
    forbid(store / "node-17")
    done = necroscope(verb, "--store", store)
    assert done.returncode == 3
    assert f"not permitted to read {store / 'node-17'}\n" in done.stderr


def test_another_host_is_shown_with_a_note(
    necroscope: Run, document: Document, store: Path, forbid: Callable[[Path], None]
) -> None:
    sealed_segment(store, seconds_of(["idle"] * 5), host="node-18")
    (store / "lost+found").mkdir()
    forbid(store / "node-17")
    assert document("timeline", "--store", store)["host"] == "node-18"
    assert "not permitted" in necroscope("timeline", "--store", store).stderr
    assert necroscope("timeline", "--store", store, "--host", "node-18").stderr == ""
    assert necroscope("timeline", "--store", store, "--host", "node-17").returncode == 3
    forbid(store / "lost+found")
    assert necroscope("timeline", "--store", store).stderr == "", "no host has such a name"


@pytest.mark.parametrize("verb", ["timeline", "flame"])
def test_a_user_is_told_of_the_store_of_the_service(
    necroscope: Run, monkeypatch: pytest.MonkeyPatch, store: Path, tmp_path: Path, verb: str
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(store_place, "SYSTEM_STORE", store)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    done = necroscope(verb)
    assert done.returncode == 3 and f"--store {store}" in done.stderr
    assert "--store" not in necroscope(verb, "--store", tmp_path / "other").stderr


@pytest.mark.parametrize("verb", ["timeline", "flame", "seal", "import", "record"])
def test_a_user_without_a_home_needs_to_name_a_store(
    necroscope: Run, monkeypatch: pytest.MonkeyPatch, store: Path, verb: str
) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(Path, "home", no_home)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    done = necroscope(verb, *([__file__] if verb == "import" else []))
    assert done.returncode == 2
    assert "no home folder" in done.stderr and "--store" in done.stderr and "internal" not in done.stderr
    if verb == "timeline":
        assert necroscope(verb, "--store", store).returncode == 0
    if verb == "seal":
        segment = store / "node-17/20260415T100100Z"
        assert necroscope(verb, segment).stdout == f"sealed {segment}\n", "no store is needed"
