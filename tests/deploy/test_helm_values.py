"""The chart's values, their comments and their schema fit together, and so do its versions."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.kubernetes.render import CHART
from tests.deploy.manifests import VALUES, VERSION

ROOT = Path(__file__).parents[2]
COMMENTS = (CHART / "values.yaml").read_text()
SCHEMA: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text())
HELMS_OWN = {"global"}  # for charts that contain this one
NOT_EMPTY = {"enum", "minItems", "minLength", "minimum", "pattern"}  # of a value that must be there


def schemas(table: dict[str, Any], above: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and schema of each value."""
    for name, one in table["properties"].items():
        if "properties" in one:
            yield from schemas(one, f"{above}{name}.")
        elif name not in HELMS_OWN:
            yield f"{above}{name}", one


ALL_SCHEMAS = dict(schemas(SCHEMA))


def table_of(name: str, document: dict[str, Any], key: str = "") -> dict[str, Any]:
    """The mapping in which the last part of a name is."""
    for part in name.split(".")[:-1]:
        document = document[key][part] if key else document[part]
    return document


def default(name: str) -> Any:
    """What a value is if nobody sets it."""
    return table_of(name, VALUES)[name.rpartition(".")[2]]


def test_every_value_has_a_schema_and_every_schema_a_value() -> None:
    names = {name.rpartition(".")[0] for name in ALL_SCHEMAS} - {""}
    for table, values in [(SCHEMA, VALUES), *((SCHEMA["properties"][name], VALUES[name]) for name in names)]:
        assert table["properties"].keys() - HELMS_OWN == values.keys()
        assert table["additionalProperties"] is False, "a typing error would be taken for a value"


@pytest.mark.parametrize("name", ALL_SCHEMAS)
def test_a_value_is_described_once_and_cannot_be_taken_away(name: str) -> None:
    schema, last = ALL_SCHEMAS[name], name.rpartition(".")[2]
    if described := schema.get("description"):
        assert f"# {described}\n" in COMMENTS
    required = table_of(name, SCHEMA, "properties").get("required", ())
    assert (last in required) == bool(NOT_EMPTY & schema.keys()), "`--set NAME=null` would take it away"


def test_the_chart_and_its_image_have_the_version_of_the_program() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert {chart["version"], chart["appVersion"], default("image.tag"), VERSION} == {version}
