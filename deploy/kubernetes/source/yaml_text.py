"""YAML as people write it: in the order given, lists indented, a text of several lines as such."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import yaml

NEVER_FOLDED = 10**6  # columns; a folded expression is hard to copy


def yaml_text(*documents: object, head: str = "") -> str:
    """Documents, below a comment where there is one."""
    import yaml

    comment = "".join(f"# {line}\n" for line in head.splitlines())
    body: str = yaml.dump_all(
        documents, Dumper=_dumper(), sort_keys=False, allow_unicode=True, width=NEVER_FOLDED
    )
    return comment + body


@cache
def _dumper() -> type[yaml.SafeDumper]:
    # Not at the top: `rules` alone writes YAML, and the recorder does without.
    import yaml

    class Dumper(yaml.SafeDumper):
        def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
            super().increase_indent(flow, False)

        def ignore_aliases(self, data: Any) -> bool:
            return True  # what is there twice is written twice

    Dumper.add_representer(str, _represent_text)
    return Dumper


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)
