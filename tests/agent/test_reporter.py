"""When the recorder starts a reporting child, and what becomes of what it hands over."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from necroscope.agent import reporter as module
from necroscope.agent.reporter import MAX_EVENTS, Reporter
from necroscope.kubernetes.condition import Condition
from necroscope.kubernetes.event_series import EventSeries
from necroscope.kubernetes.report_payload import Handover, read_handover, write_handover
from necroscope.kubernetes.unsent_reports import MOST_WAITING, OLDEST_NS, KeptReports, Waiting, too_many
from necroscope.model import retry
from necroscope.model.retry import Retry
from necroscope.sources.ray_pods import NodePod

GOOD = Condition("necroscope.dev/NICResetting", "False", "NoNICReset", "all is well")
BAD = Condition("necroscope.dev/NICResetting", "True", "NICReset", "eth0 stalled")
# A script in its place: it keeps what it gets, and answers with what stands in a file.
CHILD = """
import pathlib, sys
folder = pathlib.Path(sys.argv[1])
number = len(list(folder.glob("got.*")))
(folder / "new").write_bytes(sys.stdin.buffer.read())
(folder / "new").rename(folder / f"got.{number}")  # nobody meets half of it
answer = folder / "answer"
print(answer.read_text()) if answer.exists() else sys.exit(9)
sys.exit(int((folder / "code").read_text()))
"""


def series(number: int = 1, count: int = 1, last_ns: int = 1) -> EventSeries:
    id = f"nic-reset-20260415T100211.250Z-{number}"
    return EventSeries(id, "NICReset", "stalled", 1, last_ns, count, True)


class Children:
    """What the children were given, and what they answer."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "child.py").write_text(CHILD)
        self.command = [sys.executable, str(folder / "child.py"), str(folder)]
        self.answer(result="ok")

    def answer(self, code: int = 0, **document: Any) -> None:
        (self.folder / "answer").write_text(json.dumps(document))
        (self.folder / "code").write_text(str(code))

    def crash(self) -> None:
        (self.folder / "answer").unlink()

    def got(self) -> list[Handover]:
        return [read_handover(path.read_bytes()) for path in sorted(self.folder.glob("got.*"))]


@pytest.fixture
def children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Children:
    monkeypatch.setattr(module, "SOON", 0.0)
    monkeypatch.setattr(module, "SHORTEST_PAUSE", 0.0)
    monkeypatch.setattr(retry, "JITTER_RATIO", 0.0)
    return Children(tmp_path)


def let_work(reporter: Reporter, seconds: float = 0.5) -> None:
    """Tick as the recorder does, until the child at work has ended and some time without any has passed."""
    quiet = time.monotonic()
    while time.monotonic() - quiet < seconds:
        reporter.tick()
        if reporter.job.pid:
            quiet = time.monotonic()
        time.sleep(0.02)


def pause_before_the_next(reporter: Reporter) -> float:
    """See one child through, and say how long nobody was at work before it."""
    began = time.monotonic()
    while reporter.job.pid is None:
        reporter.tick()
        time.sleep(0.002)
    pause = time.monotonic() - began
    while reporter.job.pid:
        reporter.tick()
        time.sleep(0.002)
    return pause


def test_nothing_is_said_before_anybody_has_looked(children: Children) -> None:
    reporter = Reporter(children.command, 300)
    let_work(reporter)
    assert children.got() == []


def test_a_change_is_told_once_and_a_number_that_changes_is_none(children: Children) -> None:
    reporter = Reporter(children.command, 300)
    reporter.take([GOOD])
    let_work(reporter)
    reporter.take([Condition(GOOD.type, GOOD.status, GOOD.reason, "all is well, a minute later")])
    let_work(reporter)
    assert [one.conditions for one in children.got()] == [(GOOD,)]
    reporter.take([BAD])
    let_work(reporter)
    assert [one.conditions for one in children.got()] == [(GOOD,), (BAD,)]
    assert (reporter.status.ok, reporter.status.error) == (2, "")
    assert reporter.status.last_success_us > 0


def test_a_heartbeat_comes_by_itself(children: Children) -> None:
    reporter = Reporter(children.command, 0.3)
    reporter.take([GOOD])
    let_work(reporter, 0.2)
    assert len(children.got()) == 1
    time.sleep(0.3)
    let_work(reporter, 0.1)
    assert len(children.got()) == 2


def test_two_reports_keep_their_distance(children: Children, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SHORTEST_PAUSE", 1.0)
    reporter = Reporter(children.command, 300)
    reporter.take([GOOD])
    reporter.tick()
    began = time.monotonic()
    reporter.take([BAD])
    while len(children.got()) < 2:
        reporter.tick()
        time.sleep(0.02)
    assert time.monotonic() - began >= 0.9


def test_events_are_handed_over_once_and_again_when_the_child_crashed(
    children: Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RETRY", Retry(0.1, 300.0))
    reporter = Reporter(children.command, 300)
    children.crash()
    reporter.add([series()])
    reporter.tick()
    assert reporter.job.pid
    while reporter.job.pid:
        reporter.tick()
    assert reporter.status.failed == 1
    assert "ended with 9" in reporter.status.error
    children.answer(result="ok", dropped=2, waiting=0, problems=["Ray pods are not told"])
    reporter.add([series(count=4)])
    let_work(reporter)
    assert [one.events for one in children.got()] == [(series(),), (series(count=4),)]
    assert (reporter.status.dropped, reporter.status.error) == (2, "")
    assert reporter.status.problems == "Ray pods are not told"


def test_an_api_server_that_is_away_is_tried_later_and_later(
    children: Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RETRY", Retry(0.2, 300.0))
    reporter = Reporter(children.command, 300)
    children.answer(3, result="failed", waiting=1, error={"what": "connection refused"})
    reporter.add([series()])
    reporter.take([BAD])
    pauses = [pause_before_the_next(reporter) for _ in range(3)]
    # It may be longer on a machine that is busy, never shorter.
    assert pauses[1] >= 0.15 and pauses[2] >= 0.35, pauses
    assert (reporter.status.waiting, reporter.status.error) == (1, "connection refused")
    assert [len(one.events) for one in children.got()] == [1, 0, 0], "the child keeps them"
    assert all(one.conditions == (BAD,) for one in children.got())


def test_what_the_child_could_not_keep_is_handed_over_again(
    children: Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RETRY", Retry(0.01, 300.0))
    reporter = Reporter(children.command, 300)
    children.answer(3, result="failed", waiting=1, kept=False, problems=["what waits cannot be kept"])
    reporter.add([series()])
    for _ in range(2):
        pause_before_the_next(reporter)
    children.answer(result="ok", kept=False)
    let_work(reporter)
    assert {one.events for one in children.got()} == {(series(),)}
    reporter.finish()
    assert reporter.status.ok == 1, "told: there is nothing left for the end"


def test_how_long_the_api_server_wants_to_be_left_alone_is_heeded(
    children: Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RETRY", Retry(0.01, 300.0))
    reporter = Reporter(children.command, 300)
    children.answer(3, result="failed", retry_after_seconds=1.0)
    reporter.take([BAD])
    let_work(reporter, 0.6)
    assert len(children.got()) == 1
    let_work(reporter, 0.6)
    assert len(children.got()) == 2


def test_a_refusal_is_tried_again_at_a_slow_pace(children: Children) -> None:
    reporter = Reporter(children.command, 300)
    children.answer(3, result="refused", error={"what": "forbidden"})
    reporter.take([BAD])
    let_work(reporter)
    reporter.take([GOOD])
    let_work(reporter)
    assert len(children.got()) == 1
    assert (reporter.status.refused, reporter.status.failed, reporter.status.error) == (1, 0, "forbidden")


def test_at_the_end_events_get_one_attempt_and_conditions_none(children: Children) -> None:
    reporter = Reporter(children.command, 300)
    reporter.finish()
    assert children.got() == []
    reporter.add([series()])
    reporter.finish()
    assert [one.events for one in children.got()] == [(series(),)]


def test_more_than_can_be_handed_over_is_counted(children: Children) -> None:
    reporter = Reporter(children.command, 300)
    reporter.add([series(number) for number in range(MAX_EVENTS + 5)])
    assert reporter.status.dropped == 5


def test_a_child_that_cannot_be_started(tmp_path: Path, children: Children) -> None:
    reporter = Reporter([str(tmp_path / "nothing")], 300)
    reporter.take([GOOD])
    reporter.tick()
    assert (reporter.status.failed, "cannot start" in reporter.status.error) == (1, True)


def test_a_handover_comes_back_as_it_was() -> None:
    handover = Handover(5, (GOOD, BAD), (series(),))
    assert read_handover(write_handover(handover)) == handover
    for content in (
        b"",
        b"[]",
        b"{}",
        b'{"schema": 2}',
        b'{"schema": 1, "made_utc_ns": 1, "conditions": [1]}',
    ):
        with pytest.raises(ValueError, match=r".+"):
            read_handover(content)


def test_what_waits_is_kept_and_damage_is_not_in_the_way(tmp_path: Path) -> None:
    kept = KeptReports(tmp_path)
    assert kept.waiting() == []
    assert kept.last() is None
    kept.prepare()
    waiting = Waiting(series(), (NodePod("team-a", "ray-0", "uid"),))
    kept.put(waiting)
    (tmp_path / ".kubernetes/events/damaged.json").write_text("{")
    assert kept.waiting() == [waiting]
    assert not (tmp_path / ".kubernetes/events/damaged.json").exists()
    kept.remove(waiting)
    assert kept.waiting() == []
    (tmp_path / ".kubernetes/last.json").write_text("[]")
    assert kept.last() is None


def test_the_oldest_are_given_up() -> None:
    now_ns = 2 * OLDEST_NS
    old = Waiting(series(0, last_ns=1), ())
    many = [old, *(Waiting(series(number, last_ns=now_ns), ()) for number in range(1, MOST_WAITING + 3))]
    assert too_many(many, now_ns) == many[:3]
    assert too_many([old, many[5]], now_ns) == [old]
