from __future__ import annotations

import datetime
import subprocess
import sys
import time
from pathlib import Path

import pytest

from necroscope.errors import ConfigError
from necroscope.inventory.policy import Policy, Rule, read_policy

GOOD = """
others = "report"
[allow]
"ecs.service" = "an image for ECS"
"snapd*" = { reason = "for now", until = 2027-03-31 }
[forbid]
"cups*" = "no printers"
"""


def test_a_policy_is_read(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(GOOD)
    assert read_policy(path) == Policy(
        allow=(
            Rule("ecs.service", "an image for ECS"),
            Rule("snapd*", "for now", datetime.date(2027, 3, 31)),
        ),
        forbid=(Rule("cups*", "no printers"),),
        reports_others=True,
    )


def test_an_empty_policy_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text("")
    assert read_policy(path) == Policy()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("allow = 3", "allow is not a table"),
        ('[alow]\n"a" = "b"', "unknown key 'alow'"),
        ('others = "all"', "none of judge, report"),
        ('[allow]\n"a.service" = ""', "has no reason"),
        ('[allow]\n"a.service" = true', "has no reason"),
        ('[allow]\n"a.service" = { reason = "x", untill = 2027-01-01 }', "unknown key 'untill'"),
        ('[allow]\n"a.service" = { reason = "x", until = "soon" }', "is not a date"),
        ('[allow]\n"a.service" = { reason = "x", until = 2027-01-01T00:00:00Z }', "is not a date"),
        ("[allow", "policy.toml"),
        ("\x00", "policy.toml"),
    ],
)
def test_what_cannot_be_understood_is_an_error_that_names_the_place(
    tmp_path: Path, text: str, said: str
) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as raised:
        read_policy(path)
    assert said in raised.value.what
    assert str(path) in raised.value.what


def test_a_policy_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        read_policy(tmp_path / "none.toml")


def test_a_policy_may_be_piped_in_by_a_program_that_takes_its_time() -> None:
    program = """
from pathlib import Path
from necroscope.inventory.policy import read_policy
print(read_policy(Path("/dev/stdin")).forbid[0].pattern)
"""
    words = [sys.executable, "-c", program]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        time.sleep(0.3)
        said, _ = child.communicate('[forbid]\n"cups*" = "no printers"\n')
    assert said == "cups*\n"


def test_a_policy_may_be_a_link_as_in_a_config_map(tmp_path: Path) -> None:
    (tmp_path / "data").write_text('others = "report"')
    (tmp_path / "policy.toml").symlink_to("data")
    assert read_policy(tmp_path / "policy.toml").reports_others


def test_a_rule_ends_after_its_last_day() -> None:
    rule = Rule("snapd*", "for now", datetime.date(2027, 3, 31))
    assert rule.matches("snapd.service", datetime.date(2027, 3, 31))
    assert not rule.matches("snapd.service", datetime.date(2027, 4, 1))
    assert not rule.matches("ecs.service", datetime.date(2027, 3, 31))
