"""One setting in files of many formats."""

from __future__ import annotations

import pytest

from necroscope.inventory.agent_needs.settings_text import find_values, is_placeholder


@pytest.mark.parametrize(
    ("file", "text", "values"),
    [
        ("ecs.config", "ECS_CLUSTER=prod\n", ["prod"]),
        ("ecs.config", "#ECS_CLUSTER=prod\nECS_CLUSTERS=x\nMY_ECS_CLUSTER=y\n", []),
        ("ecs.config", "ECS_CLUSTER=\n", [""]),
        ("ecs.config", 'export ECS_CLUSTER="a b" # c\n', ["a b"]),
        ("ecs.config", "ECS_CLUSTER=a\nECS_CLUSTER=b", ["a", "b"]),
        ("x.ini", "[s]\n ECS_CLUSTER = a ; c\n", ["a"]),
        ("x.yaml", "ECS_CLUSTER: abc#d\n", ["abc#d"]),
        ("x.yaml", "ECS_CLUSTER: ''\n", [""]),
        ("x.yaml", "ECS_CLUSTER: ~\n", [""]),
        ("x.yaml", "a:\n  - ECS_CLUSTER: x\n", ["x"]),
        ("x.yaml", "ECS_CLUSTER:\n  # c\n  - a\n", ["a list"]),
        ("x.yaml", "ECS_CLUSTER:\n- a\n", ["a list"]),
        ("x.yaml", "ECS_CLUSTER:\nother: a\n", [""]),
        ("x.hcl", 'ECS_CLUSTER = ["10.0.0.1"]\n', ['["10.0.0.1"]']),
        ("x.hcl", "ECS_CLUSTER = []\n", [""]),
        ("x.json", '{"a": [{"ECS_CLUSTER": "x"}]}', ["x"]),
        ("x.json", '{"ECS_CLUSTER": null, "a": {"ECS_CLUSTER": {}}}', ["", ""]),
        ("x.json", '{"ECS_CLUSTER": ["x"]}', ["a list"]),
        ("x.toml", '[a]\nECS_CLUSTER = "x"', ["x"]),
        ("x.toml", "# ECS_CLUSTER = 1", []),
    ],
)
def test_values(file: str, text: str, values: list[str]) -> None:
    assert find_values(text, "ECS_CLUSTER", file) == values


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"a":' * 100_000, "nul", "\ufffd"])
def test_what_is_not_json_is_said_to_be_so(text: str) -> None:
    with pytest.raises(ValueError):
        find_values(text, "a", "x.json")


@pytest.mark.parametrize("line", ["a:\n", "a=\n", " " * 100 + "\n", "- - -\n", '"' * 99 + "\n"])
def test_large_files_take_no_time(line: str) -> None:
    assert len(find_values(line * (1_000_000 // len(line)), "a", "x.yaml")) <= 100


@pytest.mark.parametrize(
    "value",
    ["YOUR_API_KEY", "<your key>", "<API_KEY>", "your_license_key", "REPLACE_ME", "changeme", "{{ key }}"],
)
def test_placeholders(value: str) -> None:
    assert is_placeholder(value)


@pytest.mark.parametrize(
    "value", ["0123456789abcdef", "exchange-identity", "default", "prod", "ENC[handle]", "a<b>"]
)
def test_values_that_are_none(value: str) -> None:
    assert not is_placeholder(value)
