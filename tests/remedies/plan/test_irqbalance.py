"""What a record may have irqbalance run: the command that it has here, with bans added."""

from __future__ import annotations

from pathlib import Path

import pytest

from necroscope.model.fix import State
from necroscope.model.plan import Step
from necroscope.remedies.plan.irqbalance import DROP_IN, why_not_left_alone
from necroscope.sources.host import Host

COMMAND = "/usr/sbin/irqbalance --foreground $IRQBALANCE_ARGS --banirq=3"


@pytest.fixture
def host(tmp_path: Path) -> Host:
    unit = tmp_path / "usr/lib/systemd/system/irqbalance.service"
    unit.parent.mkdir(parents=True)
    unit.write_text(f"[Service]\nExecStart={COMMAND}\n")
    return Host(tmp_path)


def text(command: str) -> str:
    return f"[Service]\nExecStart=\nExecStart={command}\n"


def why(host: Host, value: str, before: str = "", target: str = DROP_IN) -> str:
    state: State = {"text": before} if before else {}
    return why_not_left_alone(host, "3", Step("write-file", target, value, "", "", "", "", ""), state)


def test_more_bans_for_the_same_command_are_ours(host: Host) -> None:
    ours = text(f"{COMMAND} --banirq=30 --banirq=31")
    assert why(host, ours) == ""
    assert why(host, ours, text(f"{COMMAND} --banirq=30")) == ""
    place = host.root / DROP_IN.lstrip("/")
    place.parent.mkdir(parents=True)
    place.write_text(ours)
    assert why(host, ours, text(f"{COMMAND} --banirq=30")) == "", "and so they are once they are there"
    (host.root / "usr/lib/systemd/system/irqbalance.service").unlink()
    assert why(host, ours) == "", "also if the package is gone"


@pytest.mark.parametrize(
    "other",
    [
        text("/tmp/irqbalance --banirq=3"),
        text(f"{COMMAND} --policyscript=/tmp/evil"),
        text(f"{COMMAND} --banirq=3\nExecStartPre=/tmp/evil"),
        text(f"{COMMAND} --banirq=3;/tmp/evil"),
        text(""),
        f"{text(COMMAND)}User=root\n",
        "",
    ],
)
def test_any_other_command_is_not(host: Host, other: str) -> None:
    assert "another command" in why(host, other)
    assert "another command" in why(host, text(COMMAND), other or "\n")
    assert "another command" in why(host, text(COMMAND), target=f"{DROP_IN}.conf")
