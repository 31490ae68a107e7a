"""Objects as YAML that people like to read: in our order, lists indented, texts of several lines as such."""

from __future__ import annotations

from typing import Any

import yaml


class _Dumper(yaml.SafeDumper):
    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        return True  # what is there twice is written twice


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def yaml_text(document: Any) -> str:
    """One document."""
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=10**6, allow_unicode=True)
