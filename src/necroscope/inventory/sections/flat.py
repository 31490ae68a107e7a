"""Configuration files as flat names: JSON, TOML and YAML by their libraries.

YAML is read with its safe loader, up to a size, without aliases and tags.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from necroscope.inventory.redaction.redact import redact_items

if TYPE_CHECKING:
    import yaml

DEEPEST = 40
MAX_YAML_CHARACTERS = (
    128 * 1024
)  # the parser takes up to 1 s for them; what kubelet writes has a few thousand


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


def parse_yaml(text: str) -> Any:
    """Return what a YAML file says, scalars as they are written. Raise ValueError if it cannot be read.

    Errors quote nothing of the text: it may be the line with the password.
    """
    if text.lstrip().startswith("{"):  # JSON may be indented with tabs
        return parse_json(text)
    if len(text) > MAX_YAML_CHARACTERS:
        raise ValueError(f"YAML of more than {MAX_YAML_CHARACTERS:,} characters")
    import yaml

    try:
        loader = _yaml_loader()(text)
        document = loader.get_single_data()
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ValueError(f"line {line}: YAML that is damaged, or more than one document") from None
    except yaml.YAMLError:
        raise ValueError("YAML with an alias, a tag or a character that cannot be printed") from None
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    return {} if document is None else document


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
    return parse_json if name.endswith(".json") else parse_yaml


def _scalar_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value) if isinstance(value, bool | int | float) or value is None else str(value)


@cache
def _yaml_loader() -> type[yaml.SafeLoader]:
    # Not at the top: the recorder does without.
    import yaml

    class Loader(yaml.SafeLoader):
        """Keeps text as text (`yes`, 0755, 1.10), and refuses what makes small files large."""

        depth = 0
        yaml_implicit_resolvers = {  # noqa: RUF012
            first: [(tag, pattern) for tag, pattern in rows if tag.endswith(":null")]
            for first, rows in yaml.SafeLoader.yaml_implicit_resolvers.items()
        }

        def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
            event = self.peek_event()  # type: ignore[no-untyped-call]
            if isinstance(event, yaml.AliasEvent) or getattr(event, "tag", None):
                raise yaml.YAMLError
            if self.depth == DEEPEST:
                raise RecursionError
            self.depth += 1
            node = super().compose_node(parent, index)
            self.depth -= 1
            return node

    return Loader
