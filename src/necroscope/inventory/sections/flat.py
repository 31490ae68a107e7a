"""Configuration files as flat names: JSON and TOML by their libraries, YAML as far as it is plain.

The YAML reader knows what kubelet and its installers write: maps, lists, scalars, quotes, `{}` and `[]`, by
indentation. What it does not know (anchors, tags, blocks of text, maps in brackets) is an error, no guess.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from typing import Any

from necroscope.inventory.redaction.door import redact_items

KEY = re.compile(
    r"""(?P<key>"[^"]*+"|'[^']*+'|(?:[^\s#"'\[\]{},&*!|>%@`:-]|-[^\s#:])[^#:]*+)[ ]*+:(?:\s+(?P<rest>.*))?$"""
)
UNKNOWN = ("&", "*", "!", "|", ">", "%", "@", "`")
DEEPEST = 40

Line = tuple[int, str]  # indentation and text


def parse_toml(text: str) -> Any:
    """What a TOML file says."""
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def parse_json(text: str) -> Any:
    """What a JSON file says."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def parse_plain_yaml(text: str) -> Any:
    """What a plain YAML file says, scalars as text. Raises ValueError at anything that is not plain.

    Errors quote nothing of the text: it may be the line with the password.
    """
    lines: list[Line] = []
    for number, raw in enumerate(text.splitlines(), 1):
        content = _without_comment(raw)
        if not content.strip() or content.startswith("%YAML"):
            continue
        if content.strip() in ("---", "..."):
            if lines:
                raise ValueError(f"line {number}: a second document")
            continue
        if "\t" in content[: len(content) - len(content.lstrip())]:
            raise ValueError(f"line {number}: a tab for indentation")
        lines.append((len(content) - len(content.lstrip(" ")), content.strip()))
    if not lines:
        return {}
    if lines[0][1].startswith("{"):  # JSON is YAML
        return parse_json(text)
    value, rest = _block(lines, 0)
    if rest < len(lines):
        raise ValueError("a line is indented as nothing before it")
    return value


def flatten(document: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """(name, value) of every leaf; a list of plain values is one leaf, its secrets taken out one by one."""
    if depth > DEEPEST:
        raise ValueError("nested too deeply")
    if isinstance(document, dict) and document:
        for key, value in document.items():
            yield from flatten(value, f"{path}/{key}".lstrip("/"), depth + 1)
    elif isinstance(document, list) and any(isinstance(item, dict | list) for item in document):
        for index, item in enumerate(document):
            yield from flatten(item, f"{path}/{index}".lstrip("/"), depth + 1)
    elif isinstance(document, list):
        yield path, ", ".join(redact_items(map(_scalar_text, document)))
    else:
        yield path, "" if document == {} else _scalar_text(document)


def parser_of(name: str) -> Callable[[str], Any]:
    """How to read a file, by the end of its name."""
    if name.endswith((".toml", ".conf")):
        return parse_toml
    return parse_json if name.endswith(".json") else parse_plain_yaml


def _scalar_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value) if isinstance(value, bool | int | float) or value is None else str(value)


def _without_comment(line: str) -> str:
    quote = ""
    for index, letter in enumerate(line):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'" and (index == 0 or line[index - 1] in " :[,-"):
            quote = letter
        elif letter == "#" and (index == 0 or line[index - 1] in " \t"):
            return line[:index].rstrip()
    return line.rstrip()


def _block(lines: list[Line], at: int, depth: int = 0) -> tuple[Any, int]:
    """The map or list that begins at a line, and the line behind it."""
    if depth > DEEPEST:
        raise ValueError("nested too deeply")
    indent, text = lines[at]
    if text == "-" or text.startswith("- "):
        return _list(lines, at, indent, depth)
    if KEY.match(text):
        return _map(lines, at, indent, depth)
    return _scalar(text), at + 1


def _list(lines: list[Line], at: int, indent: int, depth: int) -> tuple[list[Any], int]:
    items: list[Any] = []
    while (
        at < len(lines) and lines[at][0] == indent and (lines[at][1] == "-" or lines[at][1].startswith("- "))
    ):
        rest = lines[at][1][1:].lstrip()
        if not rest:
            if at + 1 < len(lines) and lines[at + 1][0] > indent:
                value, at = _block(lines, at + 1, depth + 1)
            else:
                value, at = None, at + 1
        else:
            # What follows the dash is a block that is indented by the dash.
            lines[at] = (indent + len(lines[at][1]) - len(rest), rest)
            value, at = _block(lines, at, depth + 1)
        items.append(value)
    return items, at


def _map(lines: list[Line], at: int, indent: int, depth: int) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    while at < len(lines) and lines[at][0] == indent and (match := KEY.match(lines[at][1])):
        key, rest = _scalar(match["key"].strip()), (match["rest"] or "").strip()
        at += 1
        if rest:
            found[key] = _scalar(rest)
        elif at < len(lines) and (lines[at][0] > indent or _is_list_at(lines[at], indent)):
            found[key], at = _block(lines, at, depth + 1)
        else:
            found[key] = None
    return found, at


def _is_list_at(line: Line, indent: int) -> bool:
    """A list may stand at the indentation of its key."""
    return line[0] == indent and (line[1] == "-" or line[1].startswith("- "))


def _scalar(text: str) -> Any:
    if text[:1] in ("'", '"'):
        if len(text) < 2 or text[-1] != text[0]:
            raise ValueError("a quote without its end")
        return parse_json(text) if text[0] == '"' else text[1:-1].replace("''", "'")
    if text.startswith(UNKNOWN):
        raise ValueError("more than plain YAML: an anchor, a tag or a block of text")
    if text in ("{}", "[]"):
        return {} if text == "{}" else []
    if text[:1] == "[" and text[-1:] == "]" and not set(text[1:-1]) & set("[]{}"):
        return [_scalar(item.strip()) for item in text[1:-1].split(",") if item.strip()]
    if text[:1] in ("[", "{"):
        raise ValueError("more than plain YAML: a map or list in brackets")
    return {"null": None, "~": None}.get(text, text)
