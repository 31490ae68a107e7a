"""Labels: what a host says of itself, and who counts most."""

from __future__ import annotations

from pathlib import Path

import pytest

from necroscope.model.labels import MOST_LABELS, Label, Labels
from necroscope.sources.cloud import Identity
from necroscope.sources.host import Host
from necroscope.sources.instance import (
    INSTANCE,
    filled_in,
    parse_os_release,
    parse_owners_labels,
    read_owners_labels,
)
from tests.sources.conftest import Content, Tree

FILES: dict[str, Content] = {
    "/proc/sys/kernel/hostname": "node-1\n",
    "/proc/sys/kernel/osrelease": "5.4.0-99-generic\n",
    "/proc/sys/kernel/random/boot_id": "655d849e-d720-46ca-af41-82512ccdf80c\n",
    "/etc/os-release": '# a comment\nNAME="Ubuntu"\nPRETTY_NAME="Ubuntu 20.04.6 LTS"\n\nID=ubuntu\n',
    "/sys/devices/system/cpu/online": "0-1\n",
    "/sys/devices/system/cpu/possible": "0-95\n",
}


def test_labels_of_a_recorded_host(tree: Tree) -> None:
    assert INSTANCE.open(tree(FILES))().value == Labels(
        hostname="node-1",
        kernel="5.4.0-99-generic",
        boot_id="655d849e-d720-46ca-af41-82512ccdf80c",
        image="Ubuntu 20.04.6 LTS",
        cores_online=2,
        cores_possible=96,
    )


def test_an_image_has_its_own_name(tree: Tree) -> None:
    text = "PRETTY_NAME='Flatcar Linux'\nIMAGE_ID=node-image-7\n"
    labels = INSTANCE.open(tree({**FILES, "/etc/os-release": text}))().value
    assert labels
    assert labels.image == "node-image-7"
    assert parse_os_release(text)["PRETTY_NAME"] == "Flatcar Linux"


@pytest.mark.parametrize("content", ["", b"\xff\xfe\x00", "cut", None, 'A="'])
def test_what_cannot_be_read_is_unknown(tree: Tree, content: Content) -> None:
    assert INSTANCE.open(tree(dict.fromkeys(FILES, content)))().value == Labels()


def test_the_owner_counts_more_than_the_cloud_and_the_cloud_more_than_the_cluster() -> None:
    cloud, node = Identity(provider="ec2", zone="cloud"), Identity(zone="node", region="node", address="node")
    assert filled_in(cloud, node, (Label("zone", "owner"), Label("rack", "b17"))) == Identity(
        provider="ec2", zone="owner", region="node", address="node"
    )


def test_this_machine() -> None:
    labels = INSTANCE.open(Host())().value
    assert labels
    assert labels.kernel == Path("/proc/sys/kernel/osrelease").read_text().strip()
    assert 0 < labels.cores_online <= labels.cores_possible
    assert labels.address.count(".") == 3 or ":" in labels.address or labels.address == ""


# The file of the owner

LABEL_FILE = "/etc/necroscope/labels.toml"
LABELS = 'rack = "b17"\nzone = "hall-2"\nrow = 7\n"team/owner" = "ml"\nspare = false\n'


def test_labels_and_well_known_names(tree: Tree) -> None:
    labels = INSTANCE.open(tree({LABEL_FILE: LABELS}))().value
    assert labels
    assert (labels.zone, labels.region) == ("hall-2", "")
    assert labels.others == (
        *(Label("rack", "b17"), Label("row", "7")),
        *(Label("spare", "false"), Label("team/owner", "ml")),
    )


def test_what_a_host_is_called_cannot_be_changed(tree: Tree) -> None:
    files: dict[str, Content] = {
        LABEL_FILE: 'hostname = "x"\nothers = "y"\n',
        "/proc/sys/kernel/hostname": "node\n",
    }
    labels = INSTANCE.open(tree(files))().value
    assert labels
    assert (labels.hostname, labels.others) == ("node", ())


def test_another_file_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.toml").write_text(LABELS)
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
    reading = INSTANCE.open(tree({LABEL_FILE: content}))()
    assert reading.value
    assert reading.value.others == ()
    assert LABEL_FILE in reading.detail


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
