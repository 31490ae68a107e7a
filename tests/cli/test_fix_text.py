"""What is printed of plans and fixes that tests/cli/test_fix.py cannot easily come by."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from pathlib import Path

from necroscope.cli.fix_records import OlderFixes
from necroscope.cli.fix_text import Shown, done_lines, plan_lines
from necroscope.cli.screen import Screen
from necroscope.model.examination import NotChecked
from necroscope.model.fix import Fix, FixState, Progress, StepState
from necroscope.model.plan import Plan, Treatment
from tests.remedies.on_record import plan_of
from tests.remedies.trees import step

WIDE = Screen(500)
STORE = Path("/elsewhere")
UNSEEN = NotChecked("kernel-log", "not permitted", "run as root", ("nic-reset",))
TWO = (Treatment("disable-unit", "a.service"), Treatment("purge-zombies", ""))


def plan(*treatments: Treatment, root: str = "/") -> Plan:
    steps = [step("stop-unit", one.subject, "") for one in treatments]
    return plan_of((), treatments, "node-17", root=root, steps=tuple(steps))


def text_of(shown: Shown, **words: str | Path | None) -> list[str]:
    given = {"what": None, "subject": None, "plan": None, "output": None, "root": Path("/"), "store": STORE}
    return list(plan_lines(WIDE, shown, Namespace(**{**given, **words})))


def test_nothing_was_changed_is_said_once() -> None:
    for treatments in ((), TWO[:1], TWO):
        lines = text_of(Shown(plan(*treatments), (), OlderFixes(), ()))
        assert "\n".join(lines).count("Nothing was changed.") == 1
    assert lines[-2:] == [
        "Nothing was changed. To keep this plan: necroscope fix -o plan.json --store /elsewhere",
        "Then, to do it: necroscope fix --plan plan.json --apply --store /elsewhere",
    ]


def test_what_was_not_looked_at_is_not_called_well() -> None:
    lines = text_of(Shown(plan(), (UNSEEN,), OlderFixes(), ()))
    assert lines[0] == "node-17: nothing to do in what could be looked at"
    assert "Not checked" in lines and "  kernel-log  not permitted. To see it: run as root" in lines
    assert text_of(Shown(plan(), (), OlderFixes(), ()))[0] == "node-17: nothing to do"


def test_older_fixes_that_cannot_be_read_are_not_checked_either() -> None:
    older = OlderFixes(not_checked=(replace(UNSEEN, source="older fixes"),))
    lines = text_of(Shown(plan(), (), older, ()))
    assert any(line.startswith("  older fixes  not permitted") for line in lines)


def test_a_fix_of_another_root_is_verified_there() -> None:
    done = Progress(StepState.DONE, {"a.service": "on"}, "", 1)
    fix = Fix("ID", FixState.APPLIED, "root", 1, 2, plan(TWO[0], root="/host"), (done,))
    assert list(done_lines(WIDE, fix, STORE))[-2:] == [
        "Did it help? necroscope verify ID --root /host --store /elsewhere",
        "To take it back: necroscope fix --undo ID --root /host --store /elsewhere",
    ]


def test_what_has_not_to_be_taken_back_is_not_offered() -> None:
    done = Progress(StepState.DONE, {}, "", 1)
    fix = Fix("ID", FixState.APPLIED, "root", 1, 2, plan(TWO[1]), (done,))
    text = "\n".join(done_lines(WIDE, fix, STORE))
    assert "verify ID" in text and "--undo" not in text


def test_what_is_not_as_before_is_said() -> None:
    undone = Progress(StepState.UNDONE, {"a.scope": "on, and cannot be started again"}, "", 1)
    fix = Fix("ID", FixState.UNDONE, "root", 1, 2, plan(TWO[0]), (undone,), "a.scope is not loaded now")
    last = list(done_lines(WIDE, fix, STORE))[-1]
    assert last == "All is as it was before, except: a.scope is not loaded now"


def test_a_name_like_an_option_comes_last() -> None:
    root = Treatment("disable-unit", "-.mount")
    last = text_of(Shown(plan(root), (), OlderFixes(), ()), what="disable-unit", subject="-.mount")[-1]
    assert last.endswith("necroscope fix --apply --store /elsewhere -- disable-unit -.mount")
