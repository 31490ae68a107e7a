"""What stands in an object where the user of the Helm chart has a say. Kustomize gets the defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """One of the chart's values, in the place of a scalar, a mapping or a list."""

    name: str  # image.repository
    default: Any
    says: str  # the comment in values.yaml
    schema: dict[str, Any]

    @property
    def template(self) -> str:
        """How a template calls it."""
        return f".Values.{self.name}"


@dataclass(frozen=True, slots=True, eq=False)
class BuiltIn:
    """What Helm itself knows."""

    template: str
    default: str


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """A string with values in it, at the places of the `{}`."""

    form: str
    parts: tuple[Value | BuiltIn | Text, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Optional:
    """A value in a mapping that is left out, with its key, while it is empty."""

    value: Value


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """A value of several lines, shown as such."""

    value: Value


@dataclass(frozen=True, slots=True, eq=False)
class When:
    """In a list: items that are there while a value is true."""

    value: Value
    items: tuple[Any, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """In a list or as a key of a mapping (to None): all that a value has."""

    value: Value


class ChartOnly(Spread):
    """As a key: what only the chart adds. Its template is the name of the value."""
