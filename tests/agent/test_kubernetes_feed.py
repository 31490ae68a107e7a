"""What the recorder hands to the child that reports: nothing before it has looked, Unknown when it cannot."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from necroscope.agent.kubernetes_feed import AgentKubernetes
from necroscope.agent.reporter import Reporter
from necroscope.errors import UsageError
from necroscope.kubernetes.condition import Condition
from necroscope.kubernetes.event_series import EventSeries
from necroscope.model.event import Event
from necroscope.model.node_state import NodeState
from necroscope.model.recorder_status import Status
from necroscope.sources.host import Host
from necroscope.store.config import KubernetesSettings
from necroscope.store.segment import Moment

SETTINGS = KubernetesSettings(report=True, address="https://127.0.0.1:1", node="node-a")
STATUS = Status(0, 0, 0, 0, 0, "", 0, 0, "", "", 0, 0, 0.0, ())
ALL = (
    "zombie-memory-cgroups",
    "core-saturated",
    "softirq-starved",
    "nic-reset",
    "kernel-stall",
    "unit-crash-loop",
)


class Heard:
    """What the reporter was told; nothing is started."""

    def __init__(self) -> None:
        self.conditions: list[tuple[Condition, ...]] = []
        self.events: list[EventSeries] = []


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Heard:
    heard = Heard()
    monkeypatch.setattr(Reporter, "take", lambda _, conditions: heard.conditions.append(conditions))
    monkeypatch.setattr(Reporter, "add", lambda _, events: heard.events.extend(events))
    monkeypatch.setattr(Reporter, "tick", lambda _: None)
    return heard


def agent(settings: KubernetesSettings = SETTINGS) -> AgentKubernetes:
    return AgentKubernetes(Host(), Path("/store"), Path("/dev/null"), lambda: settings)


def tick(one: AgentKubernetes, status: Status = STATUS) -> None:
    one.tick(status, lambda *_: None)


def test_nothing_is_said_before_it_has_looked_and_unknown_when_it_no_longer_does(heard: Heard) -> None:
    one = agent()
    tick(one)
    assert heard.conditions == []
    one.take_state(NodeState(time.time_ns(), (), ALL))
    tick(one)
    assert {condition.status for condition in heard.conditions[-1]} == {"False"}
    one.take_state(None)
    tick(one, replace(STATUS, findings_error="a damaged segment"))
    own, others = heard.conditions[-1][-1], heard.conditions[-1][:-1]
    assert own.status == "False"
    assert {(row.status, row.reason) for row in others} == {("Unknown", "NotExamined")}
    assert others[0].message == "what was recorded is not examined: a damaged segment"


def test_what_is_wrong_with_the_recorder_counts_after_a_minute(
    heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = agent()
    one.take_state(NodeState(time.time_ns(), (), ALL))
    full = replace(STATUS, store_error="no space left")
    for seconds, status, expected in [
        (0, full, "False"),
        (59, full, "False"),
        (60, full, "True"),
        (65, STATUS, "True"),  # perf that dies again and again is well for some seconds each time
        (90, full, "True"),
        (149, STATUS, "True"),
        (150, STATUS, "False"),
        (151, full, "False"),
        (210, full, "False"),
        (211, full, "True"),
    ]:
        monkeypatch.setattr(time, "monotonic", lambda seconds=seconds: 1000.0 + seconds)
        tick(one, status)
        assert heard.conditions[-1][-1].status == expected, seconds


def test_a_recorder_that_starts_into_trouble_says_so_before_it_has_looked(
    heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = agent()
    full = replace(STATUS, store_error="no space left")
    tick(one, full)
    assert heard.conditions == []
    began = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: began + 61)
    tick(one, full)
    ((own,),) = heard.conditions
    assert (own.type, own.status, own.reason) == (
        "necroscope.dev/RecorderImpaired",
        "True",
        "StoreNotWritable",
    )
    monkeypatch.setattr(time, "monotonic", lambda: began + 130)
    tick(one, STATUS)
    assert [row.status for row in heard.conditions[-1]] == ["False"], (
        "taken back, though it has not looked yet"
    )


def test_an_event_is_handed_on_at_once(heard: Heard) -> None:
    one = agent()
    now_ns = time.monotonic_ns()
    stall = Event("nic-reset", now_ns, "ena-tx-timeout", "timeout", phase="stall", device="eth0")
    one.observe(Moment(now_ns, {}, {}), [stall])
    tick(one)
    tick(one)
    assert [(row.reason, row.count) for row in heard.events] == [("NICReset", 1)]
    assert abs(heard.events[0].first_utc_ns - time.time_ns()) < 10**10


def test_it_reports_only_where_it_is_told_to() -> None:
    one = agent(KubernetesSettings())
    one.observe(Moment(0, {}, {}), [])
    one.take_state(None)
    tick(one)
    one.finish()
    assert (one.reporter, one.status) == (None, None)


def test_the_command_says_all_that_the_child_has_to_know() -> None:
    one = agent(replace(SETTINGS, token_file="/t", ca_file="/c"))
    assert one.reporter
    command = " ".join(one.reporter.command)
    assert "necroscope kubernetes report --json --handed-over --store /store --root /" in command
    assert "--address https://127.0.0.1:1 --node node-a --token-file /t --ca-file /c" in command


def test_it_can_be_switched_off_and_on_again() -> None:
    settings = SETTINGS
    one = AgentKubernetes(Host(), Path("/store"), None, lambda: settings)
    assert one.status
    settings = KubernetesSettings()
    one.load()
    assert one.status is None
    settings = replace(SETTINGS, node="node-b")
    one.load()
    assert one.status
    assert one.reporter
    assert "node-b" in one.reporter.command


def test_a_threshold_that_was_changed_counts_from_the_reload_on(heard: Heard, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text("[thresholds.nic-reset]\nstarved_seconds = 30\n")
    one = AgentKubernetes(Host(), Path("/store"), config, lambda: SETTINGS)
    for device, limit in (("eth0", 30), ("eth1", 3)):
        config.write_text(f"[thresholds.nic-reset]\nstarved_seconds = {limit}\n")
        one.load()
        now_ns = time.monotonic_ns()
        stall = Event("nic-reset", now_ns, "ena-tx-timeout", "timeout", phase="stall", device=device)
        stall = replace(stall, napi_scheduled=True, stall_seconds=5.0)
        one.observe(Moment(now_ns, {}, {}), [stall])
        tick(one)
    assert ["did not run the queue's NAPI" in row.message for row in heard.events] == [False, True]


def test_whom_to_tell_must_be_known_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.delenv("NODE_NAME", raising=False)
    with pytest.raises(UsageError, match="this is no pod"):
        agent(KubernetesSettings(report=True))
    with pytest.raises(UsageError, match="which node"):
        agent(replace(SETTINGS, node=""))
