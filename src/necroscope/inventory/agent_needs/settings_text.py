"""The value of a setting in the text of a configuration file, whatever its format.

JSON and TOML are read as such. All else is read line by line: `NAME=value` of environment files, `name =
value` of INI and HCL, `name: value` of YAML, whatever section or indentation it stands in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from necroscope.inventory.sections.flat import parser_of

MOST_CHARACTERS = 1 << 20  # of a configuration that a person or a script wrote

MOST_VALUES = 100  # of one setting in one file
LONGEST_PLACEHOLDER = 200

NOTHING = re.compile(r"""(""|''|~|null|\[\s*\]|\{\s*\})?""", re.IGNORECASE)
# What stands in a shipped example where the real value belongs.
PLACEHOLDER = re.compile(
    r"<.*>|\{\{.*\}\}|x{3,}|\*{3,}|\.{3}|todo|tbd|(change|replace|fix)[\s_-]?me"
    r"|(insert|enter|put|add)[\s_-].*here|((insert|enter|put|add|replace[\s_-]with)[\s_-])?your[\s_-].*",
    re.IGNORECASE,
)


def find_values(text: str, name: str, file: str) -> list[str]:
    """All values of a setting, in their order; empty text where one stands without a value.

    Raises ValueError where the file is not what its name says.
    """
    if file.endswith((".json", ".toml")):
        return _first(map(_as_text, _of_tree(parser_of(file)(text), name)))
    return _first(_of_lines(text, name))


def is_placeholder(value: str) -> bool:
    """Whether a value is only there to show where the real one belongs."""
    return len(value) <= LONGEST_PLACEHOLDER and PLACEHOLDER.fullmatch(value) is not None


def _first(values: Iterator[str]) -> list[str]:
    return list(islice(values, MOST_VALUES))


def _of_tree(document: Any, name: str) -> Iterator[Any]:
    """The values of a key anywhere in a document."""
    waiting = [document]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if name in node:
                yield node[name]
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)


def _as_text(value: Any) -> str:
    if isinstance(value, dict | list):
        return "a list" if value else ""
    return "" if value is None else str(value).strip()


def _of_lines(text: str, name: str) -> Iterator[str]:
    setting = re.compile(
        rf"""^([ \t]*)(?:-[ \t]+)?(?:export[ \t]+)?["']?{re.escape(name)}["']?[ \t]*[:=](.*)$""", re.MULTILINE
    )
    for match in setting.finditer(text):
        value = _bare(match[2])
        if not value and _has_children(text[match.end() : match.end() + 2_000], len(match[1].expandtabs())):
            value = "a list"
        yield value


def _bare(text: str) -> str:
    """A value without quotes, and without the comment behind it."""
    text = text.strip()
    if text[:1] in ("'", '"') and text[0] in text[1:]:
        return text[1 : text.index(text[0], 1)].strip()
    text = re.split(r"(?:^|\s)[#;]", text, maxsplit=1)[0].strip()
    return "" if NOTHING.fullmatch(text) else text


def _has_children(text: str, indentation: int) -> bool:
    """Whether YAML goes on with lines that belong to a key without a value."""
    for line in text.splitlines()[1:]:
        content = line.expandtabs().lstrip()
        if content and not content.startswith("#"):
            own = len(line.expandtabs()) - len(content)
            return own > indentation or (own == indentation and content.startswith("- "))
    return False
