"""`fleet ship` and `fleet request` as an operator calls them, and `[fleet]` of the configuration."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from necroscope.errors import ConfigError
from necroscope.store.config import FleetSettings, load_fleet_settings
from tests.fleet.ship.stores import add_segments, check_objects, objects_in
from tests.stored import BOOT_ID, HOST
from tests.unprivileged import as_nobody, needs_setpriv

PROGRAM = [sys.executable, "-m", "necroscope", "fleet"]
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")


def call(*words: str | Path, as_other: bool = False) -> tuple[int, dict[str, Any]]:
    command = [*PROGRAM, *map(str, words), "--config", "/dev/null", "--json"]
    if as_other:
        command = [*as_nobody(), *command]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "place"
    folder.mkdir()
    return folder


def test_ship_and_ask_for_more(tmp_path: Path, place: Path) -> None:
    segments = add_segments(tmp_path, 3)
    words: list[str | Path] = ["ship", "--store", tmp_path, "--fleet", place, "--host", HOST]
    code, body = call(*words)
    assert (code, body["ok"], body["staged"], body["sent"], body["waiting"]) == (0, True, 3, 3, 0)
    assert (body["given_up"], body["error"]) == ([], None)
    assert body["cpu_seconds"] > 0
    assert body["bytes"] == sum(map(len, objects_in(place).values()))
    code, asked = call("request", HOST, "-b", str(segments[1].begin_ns // 10**9), "--fleet", place)
    assert (code, (place / asked["request"]).exists()) == (0, True)
    assert call(*words)[0] == 0
    assert not (place / asked["request"]).exists()
    whole = [name for name in check_objects(objects_in(place)) if name.startswith("files-")]
    assert f"files-{segments[2].folder.name}-{BOOT_ID[:8]}" in whole


@pytest.mark.parametrize("kind", ["missing", "file"])
def test_a_place_that_is_none_is_exit_code_3_and_the_spool_keeps_it(tmp_path: Path, kind: str) -> None:
    add_segments(tmp_path, 2)
    place = tmp_path / "gone"
    if kind == "file":
        place.write_text("mine")
    code, body = call("ship", "--store", tmp_path, "--fleet", place, "--host", HOST)
    assert (code, body["ok"], body["staged"], body["sent"], body["waiting"]) == (3, False, 2, 0, 2)
    assert body["error"]["slug"] == "fleet-place"
    assert str(place) in body["error"]["what"]


def test_odd_words(tmp_path: Path, place: Path) -> None:
    assert call("ship", "--store", tmp_path, "--host", HOST)[0] == 2
    assert call("ship", "--store", tmp_path, "--host", HOST, "--fleet", place)[0] == 3, "nothing is recorded"
    assert call("ship", "--store", tmp_path, "--fleet", "ftp://x", "--host", HOST)[0] == 2
    assert call("ship", "--store", tmp_path, "--fleet", place, "--spool", "12")[0] == 2
    assert call("request", "../x", "--fleet", place)[0] == 2
    assert call("request", HOST, "-b", "30d", "--fleet", place)[0] == 2
    assert not objects_in(place)


def test_on_a_node_without_pyarrow_a_folder_will_do(tmp_path: Path, place: Path) -> None:
    add_segments(tmp_path, 2)
    without = "import sys; sys.modules.update(pyarrow=None, numpy=None, duckdb=None, scipy=None); "
    without += "from necroscope.cli.main import main; sys.exit(main(sys.argv[1:]))"
    words = ["fleet", "ship", "--store", str(tmp_path), "--host", HOST, "--config", "/dev/null", "--json"]
    for address, code in ((str(place), 0), ("s3://fleet", 3)):
        command = [sys.executable, "-c", without, *words, "--fleet", address]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == code, done.stderr
    assert json.loads(done.stdout)["error"]["slug"] == "not-installed"
    assert len(check_objects(objects_in(place))) == 2


@needs_root
@needs_setpriv
def test_without_root(tmp_path: Path, place: Path) -> None:
    """In a store of one's own it works; in one of somebody else it says who may."""
    for folder in [tmp_path, *list(tmp_path.parents)[:-2]]:
        folder.chmod(folder.stat().st_mode | 0o055)
    add_segments(tmp_path, 2)
    words: list[str | Path] = ["ship", "--store", tmp_path, "--fleet", place, "--host", HOST]
    code, body = call(*words, as_other=True)
    assert (code, body["error"]["slug"]) == (2, "store")
    assert "ship as the user that records" in body["error"]["hint"]
    tmp_path.chmod(0o700)
    code, body = call(*words, as_other=True)
    assert (code, body["error"]["slug"]) == (2, "store"), "also where it may not be entered"
    tmp_path.chmod(0o755)
    for path in [tmp_path / HOST, *(tmp_path / HOST).rglob("*")]:
        os.chown(path, 65534, 65534)
    code, body = call(*words, as_other=True)
    assert code == 3, "the place is not theirs"
    assert "Permission denied" in body["error"]["what"]
    os.chown(place, 65534, 65534)
    assert call(*words, as_other=True)[0] == 0
    assert len(check_objects(objects_in(place))) == 2


def settings(tmp_path: Path, text: str) -> FleetSettings:
    path = tmp_path / "config.toml"
    path.write_text(f"[fleet]\n{text}")
    return load_fleet_settings(path, {"place": None})


def test_the_configuration(tmp_path: Path) -> None:
    text = 'place = "s3://b/p"\nname = "n"\nevery = "10m"\nprofiles = "all"\ncounters = true\nspool = "1GiB"'
    assert settings(tmp_path, text) == FleetSettings("s3://b/p", "n", 600.0, "all", True, 1 << 30)
    assert settings(tmp_path, "") == FleetSettings()
    path = tmp_path / "config.toml"
    path.write_text('[fleet]\nplace = "a"')
    assert load_fleet_settings(path, {"place": "b"}).place == "b"


@pytest.mark.parametrize("text", [
    'colour = "red"', 'every = "1s"', 'every = "soon"', 'profiles = "some"', 'counters = "yes"',
    "counters = 1", 'spool = "12"', 'spool = "much"', 'place = ""', 'name = " "',
])  # fmt: skip
def test_a_setting_that_is_none_is_an_error(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match=rf"fleet\.{text.split(maxsplit=1)[0]}"):
        settings(tmp_path, text)
