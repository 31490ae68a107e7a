"""Labels from a file, good and bad."""

from __future__ import annotations

from pathlib import Path

import pytest

from necroscope.model.labels import MOST_LABELS, Label
from necroscope.sources.host import Host
from necroscope.sources.instance import INSTANCE
from necroscope.sources.label_file import parse_owners_labels, read_owners_labels
from tests.sources.conftest import Content, Tree

FILE = "/etc/necroscope/labels.toml"
TEXT = 'rack = "b17"\nzone = "hall-2"\nrow = 7\n"team/owner" = "ml"\nspare = false\n'


def test_labels_and_well_known_names(tree: Tree) -> None:
    labels = INSTANCE.open(tree({FILE: TEXT}))().value
    assert labels
    assert (labels.zone, labels.region) == ("hall-2", "")
    assert labels.others == (
        *(Label("rack", "b17"), Label("row", "7")),
        *(Label("spare", "false"), Label("team/owner", "ml")),
    )


def test_what_a_host_is_called_cannot_be_changed(tree: Tree) -> None:
    files: dict[str, Content] = {
        FILE: 'hostname = "x"\nothers = "y"\n',
        "/proc/sys/kernel/hostname": "node\n",
    }
    labels = INSTANCE.open(tree(files))().value
    assert labels
    assert (labels.hostname, labels.others) == ("node", ())


def test_another_file_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.toml").write_text(TEXT)
    monkeypatch.setenv("NECROSCOPE_LABELS", str(tmp_path / "mine.toml"))
    assert Label("rack", "b17") in read_owners_labels(Host())[0]
    monkeypatch.setenv("NECROSCOPE_LABELS", str(tmp_path / "missing.toml"))
    labels, why = read_owners_labels(Host())
    assert labels == ()
    assert "missing.toml" in why


def test_no_file_is_no_error(tree: Tree) -> None:
    assert read_owners_labels(tree({"/etc/hostname": "x\n"})) == ((), "")


@pytest.mark.parametrize(
    "content",
    [
        "a = \n",
        "[table]\na = 1\n",
        "a = [1]\n",
        b"\xff\xfe",
        "cut",
        None,
        "a = " + "[" * 10_000,
        "a = 1979-05-27\n",
    ],
    ids=["no value", "a table", "a list", "not text", "cut", "a folder", "deep", "a date"],
)
def test_a_bad_file_is_said(tree: Tree, content: Content) -> None:
    reading = INSTANCE.open(tree({FILE: content}))()
    assert reading.value
    assert reading.value.others == ()
    assert FILE in reading.detail


def test_what_is_not_fit_to_be_a_label() -> None:
    text = "\n".join(
        [
            *('db_password = "hunter2"', 'API_KEY = "hunter2"', 'authToken = "hunter2"', 'empty = ""'),
            *('lines = "a\\nb"', f'long = "{"x" * 2000}"', 'good = "1"'),
        ]
    )
    assert parse_owners_labels(text) == (Label("good", "1"),)
    many = "".join(f"a{number} = 1\n" for number in range(2 * MOST_LABELS))
    assert len(parse_owners_labels(many)) == MOST_LABELS
