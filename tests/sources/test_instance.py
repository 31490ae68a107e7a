"""Labels: what a host says of itself, and who counts most."""

from __future__ import annotations

from pathlib import Path

import pytest

from necroscope.model.labels import Label, Labels
from necroscope.sources.cloud.identity import Identity
from necroscope.sources.host import Host
from necroscope.sources.instance import INSTANCE, filled_in, parse_os_release
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
