"""Attack: who answers for systemd never ends, so that root's memory fills.

`/run/dbus` of a container or of an image, which we read as its host does, may be of anybody.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from jeepney import Message, new_signal

from necroscope.sources import systemd_bus
from necroscope.sources.host import Host
from necroscope.sources.systemd_bus import MANAGER, SystemdBus
from tests.sources.conftest import StartSystemd, start_systemd
from tests.sources.fake_systemd import path_of

__all__ = ["start_systemd"]

LIMIT_BYTES = 1 << 20
QUESTION = [(path_of("a.service"), "Service", "NRestarts")]


def test_a_greeting_without_an_end(start_systemd: StartSystemd, tmp_path: Path) -> None:
    start_systemd(lambda _: None, auth=b"OK " * LIMIT_BYTES)
    with pytest.raises(OSError, match="not a greeting"):
        SystemdBus(Host(tmp_path))


def test_signals_without_an_end(
    start_systemd: StartSystemd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is well formed, and none is an answer."""
    monkeypatch.setattr(systemd_bus, "MAX_ANSWER_BYTES", LIMIT_BYTES)
    signal = new_signal(MANAGER, "UnitNew", "so", ("a" * 1000, "/a"))

    def flood(_: Message) -> list[Message]:
        return [signal] * (2 * LIMIT_BYTES // 1000)

    start_systemd(flood)
    bus = SystemdBus(Host(tmp_path))
    with pytest.raises(OSError, match=f"more than {LIMIT_BYTES:,} bytes"):
        bus.properties(QUESTION)
    bus.close()
