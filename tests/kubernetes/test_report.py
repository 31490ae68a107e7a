"""What becomes of a report whose answers are those of an odd cluster, and where the store cannot be written.

The answers are written here: test_api_server has those of a real one.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from necroscope.kubernetes import report as module
from necroscope.kubernetes.access import Access
from necroscope.kubernetes.api_server import NoAnswerError, Reply
from necroscope.kubernetes.event_series import EventSeries
from necroscope.kubernetes.report import Report, Reported
from necroscope.kubernetes.report_payload import Handover
from necroscope.kubernetes.unsent_reports import KeptReports, Waiting
from necroscope.sources.host import Host
from necroscope.sources.ray_pods import NodePod

Answer = Callable[[str, str], Reply]
PODS = (NodePod("full", "ray-0", "uid-0"), NodePod("team", "ray-1", "uid-1"))
QUOTA = Reply(403, {"message": "exceeded quota: count/events"})
NOW_NS = 10**18


def series(number: int) -> EventSeries:
    return EventSeries(f"nic-reset-20260415T100211.250Z-{number}", "NICReset", "", NOW_NS, NOW_NS, 1, True)


def tell(folder: Path, monkeypatch: pytest.MonkeyPatch, answer: Answer, *waiting: Waiting) -> Reported:
    """Tell what waits to a server with these answers."""

    class Server:
        def __init__(self, _: Access) -> None: ...

        def __enter__(self) -> Server:
            return self

        def __exit__(self, *_: object) -> None: ...

        def ask(self, method: str, path: str, *_: Any) -> Reply:
            return answer(method, path)

    monkeypatch.setattr(module, "ApiServer", Server)
    kept = KeptReports(folder)
    for one in waiting:
        kept.prepare()
        kept.put(one)
    return Report(Access("http://127.0.0.1:1"), "node-a", kept, 1).tell(
        Handover(NOW_NS), Host(folder), NOW_NS
    )


def test_a_namespace_that_takes_no_events_holds_up_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def answer(method: str, path: str) -> Reply:
        asked.append(path)
        return QUOTA if "/namespaces/full/" in path else Reply(201, {})

    told = tell(tmp_path, monkeypatch, answer, *(Waiting(series(number), PODS) for number in range(3)))
    assert (told.result, told.events, told.waiting, told.dropped) == ("ok", 6, 0, 0)
    assert told.problems[0] == "an event on Pod full/ray-0 is not taken: exceeded quota: count/events"
    assert sum("/namespaces/team/" in path for path in asked) == 3
    assert KeptReports(tmp_path).waiting() == []


def test_a_webhook_that_is_down_holds_up_its_own_namespace_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(method: str, path: str) -> Reply:
        is_down = "/namespaces/full/" in path
        return Reply(500, {"message": "failed calling webhook"}) if is_down else Reply(201, {})

    told = tell(tmp_path, monkeypatch, answer, Waiting(series(1), PODS), Waiting(series(2), PODS[1:]))
    assert (told.result, told.events, told.waiting, told.dropped) == ("ok", 4, 1, 0)
    assert len(told.problems) == 1
    assert "an event on Pod full/ray-0 waits: " in told.problems[0]
    assert "failed calling webhook" in told.problems[0]
    assert [one.series for one in KeptReports(tmp_path).waiting()] == [series(1)]
    assert tell(tmp_path, monkeypatch, lambda *_: Reply(201, {})).waiting == 0, "told when it is up again"


def test_a_webhook_that_does_not_answer_is_waited_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def answer(method: str, path: str) -> Reply:
        asked.append(path)
        if "/namespaces/full/" in path:
            raise NoAnswerError("did not answer within 10 s")
        return Reply(201, {})

    told = tell(tmp_path, monkeypatch, answer, *(Waiting(series(number), PODS) for number in range(30)))
    assert (told.result, told.events, told.waiting, len(told.problems)) == ("ok", 60, 30, 1)
    assert sum("/namespaces/full/" in path for path in asked) == 1


def test_a_damaged_file_that_cannot_be_removed_is_in_nobodys_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = KeptReports(tmp_path)
    kept.prepare()
    damaged = tmp_path / ".kubernetes/events/x.json"
    damaged.write_text("{")

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    with monkeypatch.context() as read_only:
        read_only.setattr(Path, "unlink", refuse)
        assert kept.waiting() == []
    assert kept.waiting() == [] and not damaged.exists()


def test_without_the_right_to_write_events_they_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(method: str, path: str) -> Reply:
        return Reply(200, {}) if method == "GET" else Reply(403, {"message": "cannot create events"})

    told = tell(tmp_path, monkeypatch, answer, Waiting(series(1), PODS), Waiting(series(2), PODS))
    assert (told.result, told.waiting, told.dropped) == ("refused", 2, 0)
    assert len(KeptReports(tmp_path).waiting()) == 2


def test_what_is_given_up_does_not_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(method: str, path: str) -> Reply:
        return Reply(200, {}) if method == "GET" else Reply(404, {})

    told = tell(tmp_path, monkeypatch, answer, Waiting(series(1), ()))
    assert (told.result, told.waiting, told.dropped) == ("ok", 0, 1)


def test_a_store_that_cannot_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".kubernetes").write_text("in the way")
    told = tell(tmp_path, monkeypatch, lambda *_: Reply(503, {}))
    assert (told.result, told.is_kept) == ("failed", False)
    assert told.problems


def test_what_is_on_disk_already_is_not_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell(tmp_path, monkeypatch, lambda *_: Reply(503, {}), Waiting(series(1), PODS))
    (path,) = (tmp_path / ".kubernetes/events").iterdir()
    inode = path.stat().st_ino
    tell(tmp_path, monkeypatch, lambda *_: Reply(503, {}))
    assert path.stat().st_ino == inode
