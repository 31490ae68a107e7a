"""What the verb says where there is no API server; tests/kubernetes/test_api_server.py has a real one."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from necroscope.cli.kubernetes import conditions_text, reported_text
from necroscope.cli.main import main
from necroscope.cli.screen import Screen
from necroscope.errors import NotReportedError
from necroscope.kubernetes.conditions import conditions_of
from necroscope.kubernetes.node_status import Standing
from necroscope.kubernetes.report import Reported
from necroscope.kubernetes.report_payload import Handover
from necroscope.kubernetes.unsent_reports import KeptReports
from necroscope.model.finding import Severity
from necroscope.model.node_state import ActiveFinding, NodeState
from necroscope.sources.host import Host
from necroscope.store.store import Store
from necroscope.store.store_place import host_name

NOBODY = ("--address", "http://127.0.0.1:9", "--node", "node-a")  # the discard port
FOUND = (ActiveFinding("nic-reset", Severity.CRITICAL, "eth0 (ena) stalled on queue 5"),)
CONDITIONS = conditions_of(
    NodeState(1_776_247_331_500_000_000, FOUND, ("nic-reset", "core-saturated")), (), {}
)


def keep(store: Path, age_seconds: float = 0) -> None:
    folder = Store(store).host_folder(host_name(Host()))
    folder.mkdir(parents=True)
    kept = KeptReports(folder)
    kept.prepare()
    kept.keep_last(Handover(time.time_ns() - int(age_seconds * 1e9), CONDITIONS))


def asked(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, object]]:
    code = main(["kubernetes", *words, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_outside_of_a_pod_somebody_has_to_say_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.delenv("NODE_NAME", raising=False)
    store = ("--store", str(tmp_path))
    for words in (("show",), ("report", *NOBODY[:2])):
        code, body = asked(capsys, *words, *store)
        assert code == 2
        assert body["error"]["slug"] == "usage"  # type: ignore[index]


def test_what_can_be_no_name_of_a_host(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("show", "--store", str(tmp_path), "--address", "https://api..example", "--node", "node-a")
    code, body = asked(capsys, *words)
    assert code == 3
    assert body["error"]["what"] == "https://api..example: there is no such host"  # type: ignore[index]


def test_nothing_is_known_before_a_recorder_has_looked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, body = asked(capsys, "report", "--store", str(tmp_path), *NOBODY)
    assert code == 3
    assert body["error"]["slug"] == "nothing-recorded"  # type: ignore[index]


def test_a_report_that_nobody_hears(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep(tmp_path)
    code, body = asked(capsys, "report", "--store", str(tmp_path), *NOBODY)
    assert (code, body["ok"], body["result"]) == (3, False, "failed")
    assert main(["kubernetes", "report", "--store", str(tmp_path), *NOBODY]) == 3
    told = capsys.readouterr()
    assert "Connection refused" in told.err
    assert "is the server up" in told.err


def test_what_would_be_told_is_shown_though_nobody_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(tmp_path)
    code, body = asked(capsys, "show", "--store", str(tmp_path), *NOBODY)
    assert (code, body["ok"], body["standing"]) == (3, False, [])
    statuses = {row["type"]: row["status"] for row in body["wanted"]}  # type: ignore[attr-defined]
    assert statuses["necroscope.dev/NICResetting"] == "True"


def test_what_a_recorder_said_long_ago_says_nothing_about_now(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(tmp_path, age_seconds=3600)
    _, body = asked(capsys, "show", "--store", str(tmp_path), *NOBODY)
    rows: list[dict[str, str]] = body["wanted"]  # type: ignore[assignment]
    assert {(row["status"], row["reason"]) for row in rows} == {("Unknown", "NotExamined")}


def test_a_token_that_is_not_there_is_for_somebody_to_mend(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(tmp_path)
    code, body = asked(
        capsys, "report", "--store", str(tmp_path), *NOBODY, "--token-file", str(tmp_path / "no")
    )
    assert (code, body["result"]) == (3, "refused")


def test_only_a_handover_is_taken_for_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "input").write_text("[]")
    with (tmp_path / "input").open() as file:
        monkeypatch.setattr("sys.stdin", file)
        code, body = asked(capsys, "report", "--handed-over", "--store", str(tmp_path), *NOBODY)
    assert code == 2
    assert "--handed-over" in body["error"]["what"]  # type: ignore[index]


@pytest.mark.parametrize("width", [60, 80, 110])
def test_the_text_fits(width: int) -> None:
    type = "necroscope.dev/NICResetting"
    standing = {
        type: Standing(type, "False", "NoNICReset", "", "2026-04-15T10:02:11Z", "2026-04-15T10:07:11Z")
    }
    error = NotReportedError("https://10.0.0.1:6443: Connection refused", hint="is the API server up?")
    node = "ip-10-0-1-7.eu-west-1.compute.internal"
    for problem in (None, error):
        text = conditions_text(Screen(width), node, CONDITIONS, standing, problem)
        assert max(map(len, text.splitlines())) <= width
        assert "NICReset" in text
    reported = Reported(7, 2, 1, 3, error, ["what waits cannot be kept: No space left on device"])
    text = reported_text(Screen(width), reported)
    assert max(map(len, text.splitlines())) <= width
    assert "1 events wait" not in text


def test_nothing_to_show_says_so() -> None:
    text = conditions_text(Screen(), "node-a", (), {}, None)
    assert "record --kubernetes" in text
