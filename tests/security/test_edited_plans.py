"""The attack: a plan that somebody edits, so that its success is judged by something else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from necroscope.cli.main import main
from necroscope.model.plan import Goal, Treatment
from necroscope.remedies.apply.apply import apply
from necroscope.remedies.apply.site import Site
from necroscope.remedies.plan.make_plan import make_plan
from necroscope.remedies.plan.plan_document import plan_text
from necroscope.sources.host import Host
from tests.remedies.trees import listing
from tests.security.forged_records import UNIT, make_image, words


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(Host(make_image(tmp_path / "image")), tmp_path / "store")


@pytest.mark.parametrize(
    "goals",
    [
        [],
        [{"quantity": "happiness", "subject": ""}],
        [{"quantity": "unit-runs", "subject": "other.service"}],
        [{"quantity": "unit-runs", "subject": UNIT}, {"quantity": "unit-runs", "subject": UNIT}],
    ],
)
def test_a_plan_whose_goals_were_edited_is_refused(
    site: Site, tmp_path: Path, goals: list[dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """`verify` judges by the goals: whoever edits a plan must not choose that it is a success."""
    file = tmp_path / "plan.json"
    plan = make_plan(site.host, [Treatment("disable-unit", UNIT)], (), [Goal("unit-runs", UNIT)])
    document = json.loads(plan_text(plan))
    file.write_text(json.dumps(document | {"goals": goals}))
    before = listing(site.host.root)
    assert main(words(site, "--plan", str(file), "--apply")) == 2
    assert "goals" in capsys.readouterr().err
    assert listing(site.host.root) == before


def test_what_else_was_edited_is_not_put_on_record(site: Site) -> None:
    """Who is stopped along, and by whom a node is kept alive, is what is found out now."""
    plan = make_plan(site.host, [Treatment("disable-unit", UNIT)], (), ())
    edited = replace(
        plan, seen=("all is well",), warnings=("nothing else happens",), by_hand=(), vital=("x",)
    )
    fix = apply(edited, site)
    assert (fix.plan.seen, fix.plan.warnings, fix.plan.vital) == (plan.seen, plan.warnings, plan.vital)
