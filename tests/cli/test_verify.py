"""verify as people run it, on a store of known content."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from necroscope.cli import verify
from necroscope.model.plan import Goal, Treatment
from necroscope.remedies.apply.journal import Entry, Happening
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS, HierarchyCount, MemoryCgroups
from necroscope.sources.units import UNITS, Unit
from tests.cli.conftest import Run
from tests.remedies.on_record import applied_fix, plan_of, put_on_record
from tests.stored import HOST, UTC_NS, moment_of, sealed_segment

Document = Callable[..., dict[str, Any]]
SECOND_NS = 10**9
FIXED_NS = UTC_NS + 60 * SECOND_NS
GOALS = (Goal("zombie-growth", ""), Goal("zombies", ""))
TREATED = (Treatment("disable-unit", "ecs.service"),)


def build(root: Path, *, helped: bool) -> str:
    """A minute of a leak, and two minutes after a fix that helped or did not: the id of the fix."""
    moments = []
    for second in range(181):
        leaked = min(second, 60) if helped else second
        count = 10 if helped and second > 60 else 5000 + 40 * leaked
        values: dict[Any, Any] = {
            MEMORY_CGROUPS: MemoryCgroups(HierarchyCount("memory", 1, count, 0, count, ""), (), None)
        }
        if second % 60 in (0, 3):
            unit = Unit("ecs.service", "", "failed", "", second // 3, "", "", 1, 0, 1, "", "", "")
            values[UNITS] = (unit,) if second <= 60 else ()
        moments.append(moment_of(second, values))
    sealed_segment(root, moments)
    return applied_fix(root, plan_of(GOALS, TREATED, HOST), FIXED_NS, FIXED_NS)


def test_a_fix_that_helped(tmp_path: Path, document: Document) -> None:
    fix = build(tmp_path, helped=True)
    body = document("verify", fix, "--window", "2m", "--store", tmp_path, exit_code=0)
    assert (body["fix"], body["host"], body["verdict"]) == (fix, HOST, "better")
    assert body["summary"] == "it helped: zombie-growth and zombies got better"
    assert (body["window_seconds"], body["needed_seconds"], body["interrupted"]) == (120.0, None, False)
    assert body["changed"] == "2026-04-15T10:01:00.000Z"
    growth, level, *others = body["quantities"]
    assert growth["before"] == {"value": pytest.approx(144_000), "seconds": 60.0, "events": None}
    assert growth["after"]["value"] == 0 and growth["is_goal"] and growth["verdict"] == "better"
    assert growth["ratio"] == 0 <= growth["low"] < growth["high"] < 0.01
    assert growth["probability_better"] > 0.99
    assert (level["before"]["value"], level["after"]["value"]) == (7320, 10)
    assert {row["quantity"] for row in others} == {
        "saturated-core-seconds", "softirq-delay", "nic-resets", "throttling", "reclaim", "unit-restarts"
    }  # fmt: skip
    assert others[-1]["subject"] == "ecs.service" and others[-1]["before"]["events"] == 20


def test_a_fix_that_did_not_help(tmp_path: Path, necroscope: Run) -> None:
    build(tmp_path, helped=False)
    done = necroscope("verify", "--host", HOST, "--window", "2m", "--store", tmp_path)
    assert done.returncode == 4
    assert "it did not help: zombie-growth and zombies did not move" in done.stdout
    assert "144,000 -> 144,000 cgroups/h" in done.stdout


def test_a_change_by_hand(tmp_path: Path, document: Document) -> None:
    build(tmp_path, helped=True)
    words = ("verify", "--at", "2026-04-15T10:01:00Z", "--window", "2m", "--store", tmp_path)
    body = document(*words, "--host", HOST, exit_code=0)
    assert (body["fix"], body["verdict"]) == (None, "better")
    assert document(*words, exit_code=0)["host"] == HOST  # the only one there is


def test_too_short_a_window_says_what_to_ask(tmp_path: Path, necroscope: Run, document: Document) -> None:
    fix = build(tmp_path, helped=True)
    words = ("verify", fix, "--window", "3s", "--store", tmp_path)
    body = document(*words, exit_code=3)
    assert body["needed_seconds"] == 8.0
    done = necroscope(*words)
    assert "it cannot be told yet" in done.stdout
    assert f"To know more: necroscope verify {fix} --window 9s" in " ".join(done.stdout.split())


def test_what_follows_is_of_the_next_fix(tmp_path: Path, document: Document) -> None:
    """The time after a fix ends with the next one, or with its undo."""
    fix = build(tmp_path, helped=True)
    applied_fix(tmp_path, plan_of(GOALS, TREATED, HOST), FIXED_NS + 30 * SECOND_NS, FIXED_NS + 31 * SECOND_NS)
    body = document("verify", fix, "--window", "2m", "--store", tmp_path)
    assert body["after_seconds"] == 28
    newest = document("verify", "--host", HOST, "--store", tmp_path, exit_code=None)
    assert newest["fix"] != fix
    assert newest["before_seconds"] == 30  # that is since the first one


def test_time_that_cannot_count_is_not_waited_for(
    tmp_path: Path, necroscope: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the very host, where it would otherwise record for an hour."""
    monkeypatch.setattr(verify, "host_name", lambda _: HOST)
    monkeypatch.setattr(verify, "have_recorded", lambda *_: pytest.fail("it waits"))
    first = build(tmp_path, helped=True)
    later_ns = FIXED_NS + 5 * SECOND_NS
    applied_fix(tmp_path, plan_of(GOALS, TREATED, HOST), later_ns, later_ns)
    done = necroscope("verify", first, "--window", "1h", "--store", tmp_path)
    assert done.returncode == 3
    said = " ".join(done.stdout.split())
    assert "it cannot be told: another fix began or was taken back after 5 s, too soon for" in said
    assert "To know more" not in said


def test_an_undone_fix_is_not_the_newest_applied(tmp_path: Path, necroscope: Run) -> None:
    fix = build(tmp_path, helped=True)
    kinds = (Happening.UNDO_BEGUN, Happening.UNDONE)
    put_on_record(tmp_path, fix, *(Entry(kind, FIXED_NS + 40 * SECOND_NS, "a test") for kind in kinds))
    done = necroscope("verify", "--host", HOST, "--store", tmp_path)
    assert done.returncode == 2
    assert "knows no fix" in done.stderr and "--at T" in done.stderr


@pytest.mark.parametrize("width", [60, 110])
@pytest.mark.parametrize("helped", [True, False])
def test_the_text_fits_the_terminal(tmp_path: Path, necroscope: Run, width: int, helped: bool) -> None:
    fix = build(tmp_path, helped=helped)
    for window in ("2m", "3s"):
        done = necroscope("verify", fix, "--window", window, "--store", tmp_path, env={"COLUMNS": str(width)})
        assert max(map(len, done.stdout.splitlines())) <= width


def test_what_cannot_be_verified(tmp_path: Path, necroscope: Run) -> None:
    fix = build(tmp_path, helped=True)
    store = ("--store", tmp_path)

    def refused(*words: str) -> str:
        done = necroscope("verify", *words, *store)
        assert done.returncode in (2, 3) and not done.stdout
        return done.stderr

    assert "say two different things" in refused(fix, "--at", "10m")
    assert "there is no fix 'no-such'" in refused("no-such")
    assert "is in the future" in refused("--at", "2199-01-01")
    assert "less than a second" in refused("--window", "0s")
    assert "before the change" in refused("--at", "2026-04-15T09:00:00Z", "--host", HOST)
    assert "knows no fix of elsewhere" in refused("--host", "elsewhere")
    image = applied_fix(tmp_path, replace(plan_of((), host=HOST), is_image=True), FIXED_NS, FIXED_NS)
    assert "in which nothing runs" in refused(image)
