"""YAML as people write it: in the order given, and a text of several lines as such."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import yaml

NEVER_FOLDED = 10_000  # columns; a folded expression is hard to copy


def yaml_text(head: str, *documents: object) -> str:
    """Documents below a comment."""
    import yaml

    class Dumper(yaml.SafeDumper):
        """One whose representer is not shared with others."""

    Dumper.add_representer(str, _represent_text)
    comment = "".join(f"# {line}\n" for line in head.splitlines())
    body: str = yaml.dump_all(
        documents, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=NEVER_FOLDED
    )
    return comment + body


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)
