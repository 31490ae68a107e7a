"""The first rule that fits a unit decides what its vendor wants."""

from __future__ import annotations

from pathlib import Path

import pytest

from necroscope.sources.host import Host
from necroscope.sources.systemd.unit_presets import Presets, parse_presets, read_presets
from tests.sources.conftest import Deny, Tree

ETC, USR = "/etc/systemd/system-preset", "/usr/lib/systemd/system-preset"


@pytest.mark.parametrize(
    ("pattern", "fits", "does_not"),
    [
        ("a.service", "a.service", "b.service"),
        ("*", "any.thing", None),
        ("t@*", "t@x.service", "t.service"),
        ("?.socket", "a.socket", "ab.socket"),
        ("[ab].service", "b.service", "c.service"),
        ("[!a].service", "b.service", "a.service"),
        ("[^a].service", "b.service", "a.service"),
        ("t@.service x y", "t@.service", "t@x.service"),
    ],
)
def test_patterns(pattern: str, fits: str, does_not: str | None) -> None:
    presets = Presets(parse_presets(f"enable {pattern}\n", "f"), ())
    assert presets.rule_for(fits)
    assert does_not is None or presets.rule_for(does_not) is None


@pytest.mark.parametrize(
    "line", ["enable", "enabled a", "# enable a", "; disable a", "enable a b", "", "x y"]
)
def test_lines_that_are_no_rules(line: str) -> None:
    assert parse_presets(line, "f") == ()


def test_files_count_by_name_and_those_of_etc_hide_others(tree: Tree) -> None:
    host = tree(
        {
            f"{USR}/50-x.preset": "disable a.service\n",
            f"{ETC}/50-x.preset": "enable b.service\n",
            f"{USR}/90-y.preset": "enable a.service\ndisable *\n",
            f"{USR}/10-masked.preset": "disable a.service\n",
            f"{ETC}/10-masked.preset": Path("/dev/null"),
            f"{USR}/readme.txt": "disable a.service\n",
        }
    )
    presets = read_presets(host, knows_ignore=True)
    assert str(presets.rule_for("a.service")) == f"{USR}/90-y.preset: enable a.service"
    assert str(presets.rule_for("b.service")) == f"{ETC}/50-x.preset: enable b.service"
    assert str(presets.rule_for("c.service")) == f"{USR}/90-y.preset: disable *"
    assert presets.not_read == ()


def test_ignore_is_a_rule_only_to_a_systemd_that_knows_it(tree: Tree) -> None:
    host = tree({f"{USR}/50-x.preset": "ignore a.service\ndisable *\n"})
    rules = [read_presets(host, knows_ignore=knows).rule_for("a.service") for knows in (True, False)]
    assert [rule and rule.result for rule in rules] == ["", "disabled"]


def test_what_could_not_be_read_is_told(tree: Tree, deny: Deny) -> None:
    host = tree({f"{USR}/50-x.preset": "disable *\n", f"{USR}/60-y.preset": "enable *\n"})
    deny("50-x.preset")
    presets = read_presets(host, knows_ignore=True)
    assert [rule.line for rule in presets.rules] == ["enable *"]
    assert presets.not_read == (f"not permitted: {USR}/50-x.preset: Permission denied",)


def test_no_presets_at_all(tmp_path: Path) -> None:
    assert read_presets(Host(tmp_path), knows_ignore=True) == Presets((), ())
