"""The page of the incident: numbers in their places, nothing of this machine, no run that failed."""

from __future__ import annotations

import json
import platform
from pathlib import Path

import pytest

from lab.scenarios.pinterest.write_page import PLACE, STORY, PageError, fill, main, redact

PAGE = Path(__file__).parents[2] / "docs/incident.md"


def test_results_are_put_in_their_places_and_nothing_is_left_open() -> None:
    results = {"zombies": {"at_stall": 20123, "left": None}, "stalls": [{"seconds": 5.04}]}
    assert fill("{zombies.at_stall:,} in {stalls.0.seconds} s", results) == "20,123 in 5.04 s"
    for absent in ("zombies.gone", "zombies.left"):
        with pytest.raises(PageError, match=absent):
            fill(f"{{{absent}}}", results)


def test_names_and_paths_of_the_machine_are_not_told() -> None:
    run = Path("/srv/somewhere/lab/pinterest")
    said = (
        f"lab-0123456789ab, Linux {platform.release()}\nnecroscope fix --plan {run}/plan.json --apply"
        f"\n  --store {run}/store\n/sys/fs/cgroup/memory/lab-0123456789ab/payload/ecs"
    )
    told = redact(said)
    assert "somewhere" not in told and "0123456789ab" not in told and platform.release() not in told
    assert "necroscope fix --plan plan.json --apply\n/sys/fs/cgroup/memory/node-1/payload/ecs" in told


def test_cgroups_of_others_are_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.scenarios.pinterest.write_page._own_cgroup", lambda: "some-agent")
    said = f"zombies below /some-agent/{'0a' * 16} hold 34.1 MiB, below /node-1/payload/ecs 70 MiB"
    assert redact(said) == "zombies below /others/# hold 34.1 MiB, below /node-1/payload/ecs 70 MiB"


@pytest.mark.parametrize(
    ("failure", "left_behind", "wanted"),
    [
        ("", [], "the plan was carried out"),
        ("TimeoutError: x", [], "TimeoutError"),
        ("", ["a mount"], "a mount"),
    ],
)
def test_a_run_that_was_not_as_expected_is_not_written_down(
    failure: str, left_behind: list[str], wanted: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checks = [{"that": "the plan was carried out", "holds": False}]
    outcome = {"as_expected": False, "unfit": [], "checks": checks}
    outcome |= {"failure": failure, "left_behind": left_behind}
    (tmp_path / "outcome.json").write_text(json.dumps(outcome))
    assert main([str(tmp_path), str(tmp_path / "incident.md")]) == 1
    assert wanted in capsys.readouterr().err
    assert not (tmp_path / "incident.md").exists()


def test_a_run_without_an_outcome_is_not_written_down(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "results.json").write_text("{}")
    assert main([str(tmp_path), str(tmp_path / "incident.md")]) == 1
    assert "no run has ended" in capsys.readouterr().err


def test_the_page_that_is_there_was_filled_by_the_story_of_today() -> None:
    page = PAGE.read_text()
    for words in PLACE.split(STORY.read_text())[::3]:
        assert words in page, "the story has changed: make incident"
    assert not PLACE.search(page)
