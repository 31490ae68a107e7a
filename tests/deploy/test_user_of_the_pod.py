"""A node does not know the recorder's user in a pod by itself, and its system bus wants to know it."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.machines.nspawn import Container, why_not
from tests.deploy.manifests import USER

PAGE = (Path(__file__).parents[2] / "docs/kubernetes.md").read_text()
NAME = "org.freedesktop.systemd1"
PING = f"busctl --system call {NAME} /org/freedesktop/systemd1 org.freedesktop.DBus.Peer Ping"


@pytest.fixture
def node() -> Iterator[Container]:
    if reason := why_not():
        pytest.skip(f"no container: {reason}")
    if not shutil.which("dbus-daemon"):
        pytest.skip("dbus-daemon is not installed: apt-get install dbus")
    with Container() as node:
        assert node.run(["systemctl", "start", "dbus.service"]).returncode == 0
        yield node


def ping(node: Container) -> subprocess.CompletedProcess[str]:
    as_the_user = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
    return node.run([*as_the_user, "sh", "-c", PING])


def test_the_bus_answers_once_the_page_was_followed(node: Container) -> None:
    assert ping(node).returncode != 0, "the page says that it hangs up"
    (command,) = re.findall(rf"^echo 'u \S+ {USER} .*systemd-sysusers$", PAGE, re.MULTILINE)
    made = node.run(["sh", "-c", f"mkdir -p /etc/sysusers.d; {command}"])
    assert made.returncode == 0, made.stderr
    answer = ping(node)
    assert answer.returncode == 0, answer.stderr
