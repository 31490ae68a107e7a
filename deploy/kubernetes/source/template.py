"""An object as a template of Helm: markers become actions.

The object is written as YAML with a token at the place of each marker; then each line with a token is
replaced.
"""

from __future__ import annotations

import re
from typing import Any

from deploy.kubernetes.source.markers import Block, BuiltIn, ChartOnly, Optional, Spread, Text, Value, When
from deploy.kubernetes.source.yaml_text import yaml_text

TOKEN = re.compile(r"(?P<indent> *)(?P<dash>(?:- )?)(?P<key>(?:[\w./-]+: )?)'@@(?P<number>\d+)@@'(?:: null)?")
END = "{{- end }}"
FILTERS = {str: " | quote", int: " | int64"}  # Helm reads numbers as floats, and would print 1e+06
Marker = Value | BuiltIn | Text | Optional | Block | When | Spread | None  # None: the end of a When


def template(item: Any) -> str:
    """The text of a template."""
    markers: list[tuple[Marker, Any]] = []
    lines = yaml_text(_with_tokens(item, markers)).splitlines()
    made = []
    for line in lines:
        match = TOKEN.fullmatch(line)
        made.append(_action(match, *markers[int(match["number"])]) if match else line)
    return "\n".join(made) + "\n"


def _with_tokens(item: Any, markers: list[tuple[Marker, Any]]) -> Any:
    """The same with strings in the place of markers, which are noted; a key may stand for several."""

    def token(marker: Marker, more: Any = None) -> str:
        markers.append((marker, more))
        return f"@@{len(markers) - 1}@@"

    if isinstance(item, Value | BuiltIn | Text | Optional | Block):
        return token(item)
    if isinstance(item, dict):
        return {
            (token(key, value) if isinstance(key, Spread) else key): (
                None if isinstance(key, Spread) else _with_tokens(value, markers)
            )
            for key, value in item.items()
        }
    if not isinstance(item, list):
        return item
    items: list[Any] = []
    for one in item:
        if isinstance(one, When):
            items += [token(one), *_with_tokens(list(one.items), markers), token(None)]
        else:
            items.append(token(one) if isinstance(one, Spread) else _with_tokens(one, markers))
    return items


def _action(match: re.Match[str], marker: Marker, key: Any) -> str:
    """The lines in the place of one."""
    indent, lead = match["indent"], match["indent"] + match["dash"] + match["key"]
    match marker:
        case None:
            line = END
        case When(value=value):
            line = f"{{{{- if {value.template} }}}}"
        case ChartOnly(value=value):
            line = f'{key}: "{value.name}"'
        case Spread(value=value):
            return _with(indent, value, [f"{{{{- {_many('.', len(indent))} }}}}"])
        case Optional(value=value):
            lines = f"{match['key']}{_value(value, '.', len(indent) + 2)}".splitlines()
            return _with(indent, value, [line.rstrip() for line in lines])
        case Block(value=value):
            return f"{lead}|\n{indent}  {{{{- {value.template} | nindent {len(indent) + 2} }}}}"
        case Text():
            return f'{lead}"{_inline(marker)}"'
        case Value() | BuiltIn():
            inner = len(indent) + len(match["dash"]) + 2
            first, *rest = f"{lead}{_value(marker, marker.template, inner)}".splitlines()
            return "\n".join([first.rstrip(), *(f"{indent}{line}" for line in rest)])
    return f"{indent}{line}"


def _value(value: Value | BuiltIn, called: str, indent: int) -> str:
    """What stands behind a key: a scalar, or on a line of its own a mapping or a list."""
    if isinstance(value.default, dict | list):
        return f"\n  {{{{- {_many(called, indent)} }}}}"
    return f"{{{{ {called}{FILTERS.get(type(value.default), '')} }}}}"


def _many(called: str, indent: int) -> str:
    return f"toYaml {called} | nindent {indent}"


def _with(indent: str, value: Value, lines: list[str]) -> str:
    made = [f"{{{{- with {value.template} }}}}", *lines, END]
    return "\n".join(f"{indent}{line}" for line in made)


def _inline(part: Value | BuiltIn | Text) -> str:
    if isinstance(part, Text):
        return part.form.format(*map(_inline, part.parts))
    return f"{{{{ {part.template}{FILTERS[int] if isinstance(part.default, int) else ''} }}}}"
