"""An object with every marker replaced by its default: what kustomize gets."""

from __future__ import annotations

from typing import Any

from deploy.kubernetes.source.markers import Block, BuiltIn, ChartOnly, Optional, Spread, Text, Value, When


def plain(item: Any) -> Any:
    """The same without markers."""
    match item:
        case Value() | BuiltIn():
            return plain(item.default)
        case Text():
            return item.form.format(*map(plain, item.parts))
        case Block() | Optional():
            return plain(item.value)
        case dict():
            return _mapping(item)
        case list() | tuple():
            return _items(item)
        case _:
            return item


def _mapping(item: dict[Any, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in item.items():
        if isinstance(key, ChartOnly) or (isinstance(value, Optional) and not value.value.default):
            continue
        if isinstance(key, Spread):
            found |= plain(key.value)
        else:
            found[key] = plain(value)
    return found


def _items(item: list[Any] | tuple[Any, ...]) -> list[Any]:
    found: list[Any] = []
    for one in item:
        if isinstance(one, Spread):
            found += plain(one.value)
        elif isinstance(one, When):
            found += plain(one.items) if one.value.default else []
        else:
            found.append(plain(one))
    return found
