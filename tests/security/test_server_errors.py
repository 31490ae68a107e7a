"""What a client of the page learns about the machine from errors.

The attack: ask about a store that is damaged, gone, or not to be read, and take the paths from the answers.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from necroscope.errors import StoreError
from necroscope.server.failures import answer_to
from tests.server.questions.sampled_store import BEGIN_US, sampled_store
from tests.server.test_fleet_routes import app_of as app_with_fleet
from tests.server.test_odd_stores import app_of, ask
from tests.stored import HOST

SPAN = f"host={HOST}&since_us={BEGIN_US}&begin_us={BEGIN_US}&end_us={BEGIN_US + 80 * 10**6}"
QUESTIONS = [
    *("hosts", "cores", "events", "zombies", "diagnosis", "live", "scope", "flame", "culprit", "export"),
    "export?format=html",
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("a place with blanks") / "the store"
    sampled_store(root)
    return root


@pytest.fixture
def store(whole: Path, tmp_path: Path) -> Path:
    """Its path is worth hiding, and hard to tell from words."""
    root = tmp_path / "home of alice" / "the store"
    shutil.copytree(whole, root)
    return root


def spoil(name: str) -> Callable[[Path], None]:
    def write(root: Path) -> None:
        for path in (root / HOST).glob(f"*/{name}"):
            path.write_bytes(b"{not what it was")

    return write


def no_host(root: Path) -> None:
    shutil.rmtree(root / HOST)


def no_store(root: Path) -> None:
    shutil.rmtree(root)


def a_file(root: Path) -> None:
    shutil.rmtree(root)
    root.write_text("a file")


def a_loop(root: Path) -> None:
    shutil.rmtree(root)
    root.symlink_to(root.name)


def a_link(root: Path) -> None:
    """The store is elsewhere, and errors may name the one place or the other."""
    root.rename(root.with_name("elsewhere of alice"))
    root.symlink_to("elsewhere of alice")
    spoil("counters/*.parquet")(root)


@pytest.mark.parametrize(
    "change",
    [
        *map(spoil, ("segment.json", "events.parquet", "counters/*.parquet", "profile/*.parquet", "*/*")),
        *(no_host, no_store, a_file, a_loop, a_link),
    ],
)
@pytest.mark.parametrize("is_late", [True, False])
def test_no_answer_names_a_place(change: Callable[[Path], None], is_late: bool, store: Path) -> None:
    app = app_of(store)
    if is_late:  # after it was listed
        ask(app, f"/api/hosts?{SPAN}")
    change(store)
    for question in QUESTIONS:
        name, _, more = question.partition("?")
        answer = ask(app, f"/api/{name}?{SPAN}&{more}")
        assert answer.status in (200, 400, 403, 404), answer.body
        for part in ("alice", str(store.parents[1]), "necro-"):
            assert part.encode() not in answer.body, (question, answer.body[:500])


def test_a_place_of_a_fleet_that_is_away(store: Path, tmp_path: Path) -> None:
    place = tmp_path / "home of alice" / "fleet"
    app = app_with_fleet(place, store)
    answer = ask(app, "/api/fleet")
    assert answer.status in (404, 502) and b"alice" not in answer.body, answer.body


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("/srv/a b/node-1/x.parquet: cut off", "node-1/x.parquet: cut off"),
        ("/srv/a b is not a folder", "(a path of the server) is not a folder"),
        (
            "not permitted to read /home/alice/x (as nobody)",
            "not permitted to read (a path of the server) (as nobody)",
        ),
        ("IO Error: '/var/cache/necroscope/x'.", "IO Error: '(a path of the server)'."),
        ("there is nothing: /api/hosts lists them", "there is nothing: /api/hosts lists them"),
        ("s3://bucket/fleet and/or x", "s3://bucket/fleet and/or x"),
        ("the page is at /", "the page is at /"),
        ("file:///home/alice/fleet: gone", "(a path of the server): gone"),
        ("read:/home/alice/x", "read:(a path of the server)"),
        ("https://docs.example.org/a/b", "https://docs.example.org/a/b"),
    ],
)
def test_paths_go_and_words_stay(said: str, shown: str) -> None:
    answer = answer_to(StoreError(said, hint=said), (Path("/srv/a b"),))
    assert json.loads(bytes(answer.body))["error"] == {"slug": "store", "what": shown, "hint": shown}
