"""fix as people run it: plans, files, refusals, and what it says about older fixes."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from necroscope.cli.main import main
from necroscope.model.plan import Plan, Treatment
from necroscope.remedies.actions.catalog import ALL_ACTIONS
from necroscope.remedies.apply.site import one_name
from necroscope.remedies.plan.plan_document import plan_text, read_plan
from tests.cli.conftest import PROGRAM, Document, Run
from tests.remedies.killed import run_killed
from tests.remedies.trees import NEW_TEXT, listing, make_tree, plan_for, step, tree_remedy
from tests.unprivileged import as_nobody, needs_setpriv

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become somebody else")


@pytest.fixture
def image(tmp_path: Path) -> Iterator[Path]:
    with tree_remedy():
        yield make_tree(tmp_path / "image")


@pytest.fixture
def words(image: Path, tmp_path: Path) -> list[str | Path]:
    """The image, a store, and a plan for both."""
    plan = tmp_path / "plan.json"
    plan.write_text(plan_text(plan_for(image)))
    return ["--root", image, "--store", tmp_path / "store", "--plan", plan]


@pytest.fixture
def place(words: list[str | Path]) -> list[str | Path]:
    return words[:4]


def left_in_the_middle(words: list[str | Path], point: int = 30) -> None:
    """An apply that was killed."""
    assert run_killed(point, lambda: main(["fix", *map(str, words), "--apply"]))


def test_a_plan_says_all_that_will_be_done(necroscope: Run, words: list[str | Path], image: Path) -> None:
    done = necroscope("fix", *words)
    assert (done.returncode, done.stderr) == (0, "")
    text = done.stdout
    assert " ".join(text.split()).startswith(
        f"the image {image}: tend-tree 4 steps: put-text /etc/limit.conf, drop-link /etc/wants/a.service, "
    )
    assert text.index("To do it:") < text.index("Why") < text.index("1. put-text")
    for wanted in (
        *("a test asked for it", "3 files", "1. put-text /etc/limit.conf", "4. put-text /etc/new.conf"),
        *("     put-link /etc/a.service", "why   a test", "undo  put it back", "a.socket goes too"),
    ):
        assert wanted in text
    assert "Nothing was changed. To do it:" in text and "--apply --root" in text.splitlines()[-1]


def test_a_plan_writes_nothing(necroscope: Run, words: list[str | Path], image: Path, tmp_path: Path) -> None:
    before = listing(tmp_path)
    necroscope("fix", *words)
    necroscope("fix", *words[:4], "--list")
    necroscope("fix", *words, "--json")
    assert listing(tmp_path) == before


def test_what_is_printed_can_be_applied_and_taken_back(
    document: Document, words: list[str | Path], place: list[str | Path], image: Path, tmp_path: Path
) -> None:
    before = listing(image)
    (tmp_path / "answer.json").write_text(json.dumps(document("fix", *words)))
    body = document("fix", *place, "--plan", tmp_path / "answer.json", "--apply")
    fix = body["fix"]
    assert (fix["state"], fix["ended"] > fix["begun"], body["plan"]["kind"]) == (
        "applied",
        True,
        "necroscope-plan",
    )
    assert [step["state"] for step in fix["steps"]] == ["done"] * 4
    assert (image / "etc/new.conf").read_text() == NEW_TEXT
    listed = document("fix", *place, "--list")
    assert [one["id"] for one in listed["fixes"]] == [fix["id"]] and listed["unfinished"] == []
    assert document("fix", *place, "--undo", fix["id"])["fix"]["state"] == "undone"
    assert listing(image) == before


def test_apply_says_what_it_did_and_how_to_take_it_back(
    necroscope: Run, words: list[str | Path], place: list[str | Path]
) -> None:
    done = necroscope("fix", *words, "--apply")
    id = done.stdout.split(":")[0]
    assert done.returncode == 0 and done.stdout.startswith(f"{id}: applied\n")
    assert "1. put-text /etc/limit.conf: done: /etc/limit.conf was written" in " ".join(done.stdout.split())
    assert f"necroscope fix --undo {id} --root" in done.stdout
    assert "step 4 of 4: put-text /etc/new.conf" in done.stderr
    done = necroscope("fix", *place, "--undo", id)
    assert done.stdout.splitlines()[-1] == "All is as it was before."
    assert "no fix" not in necroscope("fix", *place, "--list").stdout


def test_a_unit_of_an_image_by_its_name(
    necroscope: Run, document: Document, place: list[str | Path], image: Path
) -> None:
    """The real remedy: what is printed last is what does it."""
    for folder in ("usr/lib/systemd/system", "etc/systemd/system/multi-user.target.wants"):
        (image / folder).mkdir(parents=True)
    unit = "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"
    (image / "usr/lib/systemd/system/agent.service").write_text(unit)
    link = image / "etc/systemd/system/multi-user.target.wants/agent.service"
    link.symlink_to("/usr/lib/systemd/system/agent.service")
    before = listing(image)
    said = necroscope("fix", *place, "disable-unit", "agent").stdout
    assert listing(image) == before and link.name in said
    _, *words = shlex.split(said.strip().splitlines()[-1].split(":")[-1])
    assert words[:3] == ["fix", "disable-unit", "agent.service"] and "--apply" in words
    id = document(*words)["fix"]["id"]
    assert not link.is_symlink() and id.endswith("-disable-unit")
    assert necroscope("fix", *place, "--undo", id).returncode == 0
    assert listing(image) == before


@pytest.mark.parametrize("columns", ["60", "40"])
def test_a_narrow_terminal(
    necroscope: Run, words: list[str | Path], place: list[str | Path], columns: str
) -> None:
    env = {"COLUMNS": columns}
    left_in_the_middle(words)
    for text in (
        necroscope("fix", *words, env=env).stdout,
        necroscope("fix", *place, "--list", env=env).stdout,
    ):
        prose = [line for line in text.splitlines() if "necroscope fix" not in line]
        assert max(map(len, prose)) <= int(columns)


def test_output_is_a_plan_and_is_never_overwritten(
    necroscope: Run, words: list[str | Path], image: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.json"
    done = necroscope("fix", *words, "-o", out)
    assert done.returncode == 0 and "--plan" in done.stdout
    assert read_plan(out).steps == plan_for(image).steps
    assert necroscope("fix", *words, "-o", out).returncode == 2
    assert necroscope("fix", *words, "-o", out, "-f").returncode == 0


@pytest.mark.parametrize(
    "more",
    [
        ["--apply"],
        ["--undo", "x", "--continue", "y"],
        ["--list", "--apply"],
        ["--undo", "x", "--apply"],
        ["--list", "-o", "plan.json"],
        ["purge-zombies", "--list"],
        ["purge-zombies", "--undo", "x"],
        ["--undo", "no-such-fix"],
        ["--continue", "no-such-fix"],
        ["--undo", ""],
        ["--continue", ""],
        [""],
        ["disable-unit", "-.mount"],
    ],
)
def test_contradictions_are_usage_errors(
    document: Document, place: list[str | Path], more: list[str]
) -> None:
    assert document("fix", *place, *more, exit_code=2)["error"]["slug"] == "usage"


def test_a_root_is_the_same_by_any_name(
    document: Document, words: list[str | Path], place: list[str | Path], image: Path, tmp_path: Path
) -> None:
    link = tmp_path / "link"
    link.symlink_to(image)
    names = [link, f"/{image}", f"{image}/../{image.name}"]
    fix = document("fix", "--root", link, *words[2:], "--apply")["fix"]
    assert fix["root"] == str(image)
    for name in names:
        assert [one["id"] for one in document("fix", "--root", name, *place[2:], "--list")["fixes"]]
    assert document("fix", "--root", names[2], *place[2:], "--undo", fix["id"])["fix"]["state"] == "undone"


@as_root
def test_a_root_behind_a_process_is_not_taken_for_our_own() -> None:
    assert one_name(Path("/proc/self/root")) == Path("/")  # that is our own
    with subprocess.Popen(["unshare", "--mount", "sleep", "60"]) as other:
        try:
            root = Path(f"/proc/{other.pid}/root")
            while Path(f"/proc/{other.pid}/comm").read_text() != "sleep\n":
                time.sleep(0.01)
            assert one_name(root) == root, "its mounts are others"
        finally:
            other.kill()


def test_a_pipe_is_no_plan_but_stdin_is(place: list[str | Path], tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def run(name: str | Path) -> subprocess.CompletedProcess[bytes]:
        command = [str(PROGRAM), "fix", *map(str, place), "--plan", str(name)]
        text = b"no plan"
        return subprocess.run(command, input=text, capture_output=True, check=False, timeout=60)

    assert b"not a regular file" in run(pipe).stderr
    assert b"/dev/stdin: not a plan" in run("/dev/stdin").stderr


def test_help_says_what_apply_needs(necroscope: Run) -> None:
    text = " ".join(necroscope("fix", "--help").stdout.split())
    assert "--apply wants to know what" in text and "nothing to fix" in text


def test_nothing_to_fix_is_well(
    document: Document, place: list[str | Path], image: Path, tmp_path: Path
) -> None:
    plan = tmp_path / "nothing.json"
    plan.write_text(plan_text(plan_for(image, "nothing")))
    body = document("fix", *place, "--plan", plan, "--apply")
    assert body["plan"]["steps"] == [] and not (tmp_path / "store").exists()


def tampered(path: Path, **step: str) -> Path:
    """A plan whose second step is another one."""
    document = json.loads(path.read_text())
    document["steps"][1] |= step
    path.write_text(json.dumps(document))
    return path


def test_refusals_have_their_slugs(
    document: Document, words: list[str | Path], place: list[str | Path], image: Path, tmp_path: Path
) -> None:
    before = listing(image)
    plan = Path(words[-1])
    whole = plan.read_text()

    def error(*more: str | Path) -> dict[str, Any]:
        found: dict[str, Any] = document("fix", *more, "--apply", exit_code=2)["error"]
        assert found["hint"], found
        return found

    tampered(plan, target="/etc/shadow")
    assert error(*words)["slug"] == "host-changed"
    plan.write_text(whole.replace('"host"', '"hosts"', 1))
    assert "hosts: a plan has no such field" in error(*words)["what"]
    vital = tmp_path / "vital.json"
    vital.write_text(plan_text(plan_for(image, "vital")))
    refused = error(*place, "--plan", vital)
    assert (
        refused["slug"] == "fix-refused" and "sshd" in refused["what"] and "--even-vital" in refused["hint"]
    )
    plan.write_text(whole)
    (image / "etc/other").write_text("changed since\n")
    assert "/etc/other: was" in error(*words)["what"]
    (image / "etc/other").write_text("not ours\n")
    assert listing(image) == before


def test_a_fix_left_in_the_middle_is_said_first(
    necroscope: Run, document: Document, words: list[str | Path], place: list[str | Path]
) -> None:
    left_in_the_middle(words)
    (id,) = [one["id"] for one in document("fix", *words)["unfinished"]]
    for text in (necroscope("fix", *words).stdout, necroscope("fix", *place, "--list").stdout):
        said = " ".join(text.split())
        assert said.startswith(f"{id} ended in the middle")
        assert f"fix --undo {id}" in said and f"fix --continue {id}" in said
        assert "begun, and nothing tells whether it ended" in said or ": done" in said
    for more in (words, [*place, "disable-unit", "whatever.service"]):  # the latter before any look
        assert document("fix", *more, "--apply", exit_code=2)["error"]["slug"] == "fix-held"


def test_ctrl_c_in_a_step_is_said_first_by_the_next_plan(
    necroscope: Run, document: Document, words: list[str | Path], image: Path
) -> None:
    """The signal is a real one: the step sends it to its own process."""
    before = listing(image)

    def interrupted(*_: object) -> str:
        os.kill(os.getpid(), signal.SIGINT)
        raise AssertionError("the signal did not come")

    with patch.dict(ALL_ACTIONS, {"put-link": replace(ALL_ACTIONS["put-link"], do=interrupted)}):
        done = necroscope("fix", *words, "--apply")
    assert done.returncode == 130 and "Interrupted." in done.stdout
    (left,) = document("fix", *words)["unfinished"]
    assert left["state"] == "unfinished"
    said = " ".join(necroscope("fix", *words).stdout.split())
    assert said.startswith(f"{left['id']} ended in the middle")
    assert "3. put-link /etc/a.service: begun, and nothing tells whether it ended" in said
    assert necroscope("fix", *words[:4], "--undo", left["id"]).returncode == 0 and listing(image) == before


def test_a_failed_fix_is_mentioned_and_holds_up_nothing(
    necroscope: Run, document: Document, place: list[str | Path], words: list[str | Path], image: Path
) -> None:
    breaking = Path(words[-1]).with_name("break.json")
    breaking.write_text(plan_text(plan_for(image, "break")))
    assert (
        document("fix", *place, "--plan", breaking, "--apply", exit_code=2)["error"]["slug"] == "fix-failed"
    )
    body = document("fix", *words)
    (failed,) = body["failed"]
    assert failed["state"] == "failed" and body["unfinished"] == []
    for text in (necroscope("fix", *words).stdout, necroscope("fix", *place, "--list").stdout):
        said = " ".join(text.split())
        assert said.startswith(f"{failed['id']} failed, and what it did before that holds")
        assert f"fix --undo {failed['id']}" in said and f"fix --continue {failed['id']}" in said
    assert document("fix", *words, "--apply")["fix"]["state"] == "applied"


def test_a_damaged_record_does_not_hide_the_others(
    necroscope: Run, document: Document, words: list[str | Path], place: list[str | Path], tmp_path: Path
) -> None:
    fix = document("fix", *words, "--apply")["fix"]
    (tmp_path / "store-fixes" / fix["id"] / "journal").write_bytes(b"00000000 {}\n")
    body = document("fix", *place, "--list")
    assert body["fixes"] == [] and "line 1 is damaged" in body["damaged"][0]["what"]
    assert "line 1 is damaged" in " ".join(necroscope("fix", *words).stdout.split())
    assert document("fix", *words)["damaged"] == body["damaged"]


def test_ctrl_c_between_two_steps_is_130_with_both_ways_out(
    necroscope: Run,
    words: list[str | Path],
    place: list[str | Path],
    image: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The signal is a real one: it comes when the second step is announced."""
    before = listing(image)

    def interrupt(text: str) -> None:
        if "step 2" in text:
            os.kill(os.getpid(), signal.SIGTERM)

    with monkeypatch.context() as patch:
        patch.setattr("necroscope.cli.fix.note", interrupt)
        done = necroscope("fix", *words, "--apply")
    assert done.returncode == 130
    id = done.stdout.split(":")[0]
    assert f"--undo {id}" in done.stdout and f"--continue {id}" in done.stdout
    assert necroscope("fix", *place, "--undo", id).returncode == 0
    assert listing(image) == before


def test_two_programs_at_once(words: list[str | Path], place: list[str | Path], tmp_path: Path) -> None:
    """Another process holds the lock: the real program is refused, and its list says who it is."""
    hold = (
        "import sys; from pathlib import Path; from necroscope.remedies.apply.lock import held;"
        "from necroscope.sources.host import Host\n"
        "with held(Path(sys.argv[1]), Host(Path(sys.argv[2]))): print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", hold, str(place[3]), str(place[1])]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout and first.stdout.readline() == "held\n"
        asked = [[str(PROGRAM), "fix", *map(str, place), *more] for more in (["--undo", "x"], ["--list"])]
        undo, listed = (
            subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
            for command in asked
        )
        first.communicate("")
    assert undo.returncode == 2 and f"a fix is being carried out by pid {first.pid}, since" in undo.stderr
    assert f"pid {first.pid}" in listed.stdout


def test_what_a_look_could_not_see_is_told_as_by_doctor(
    document: Document, necroscope: Run, tmp_path: Path
) -> None:
    """On this machine, whatever is found: a second is too short to see a full core."""
    body = document("fix", "-d", "1s", "--store", tmp_path)
    (row,) = [row for row in body["not_checked"] if row["source"] == "core-saturated"]
    assert "looked for 1 s" in row["reason"]
    if not body["plan"]["treatments"]:
        # A line that somebody wrote to the kernel log may name a core that this machine does not have.
        said = ("in what could be looked at", "is not online")
        assert any(one in body["plan"]["reasons"][-1] for one in said)
    text = necroscope("fix", "-d", "1s", "--store", tmp_path).stdout
    assert "\nNot checked\n" in text and "core-saturated" in text


@needs_setpriv
def test_somebody_else_may_read_a_plan_but_not_apply_it() -> None:
    """On the machine itself: without root nothing is applied and nothing is written."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        (folder / "plan.json").write_text(plan_text(plan_for_this_machine()))

        def run(*more: str) -> subprocess.CompletedProcess[str]:
            words = ["--plan", str(folder / "plan.json"), "--store", str(folder / "store"), *more]
            command = [*as_nobody(), str(PROGRAM), "fix", *words]
            return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

        shown = run()
        refused = run("--apply")
        assert (shown.returncode, "1. drop-caches" in shown.stdout) == (0, True), shown.stderr
        assert refused.returncode == 2 and "only root may change this machine" in refused.stderr
        assert [path.name for path in folder.iterdir()] == ["plan.json"]


def plan_for_this_machine() -> Plan:
    """It has one step, which nobody may carry out."""
    caches = step("drop-caches", "/proc/sys/vm/drop_caches", "3")
    treatments = (Treatment("purge-zombies", ""),)
    return Plan("h", "", "/", False, "now", (), (), treatments, (), (caches,), (), (), (), ())
