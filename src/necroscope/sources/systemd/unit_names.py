"""Names of systemd's units: `foo.service`, the template `foo@.service`, its instance `foo@bar.service`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

UNIT_TYPES = (
    "automount",
    "device",
    "mount",
    "path",
    "scope",
    "service",
    "slice",
    "socket",
    "swap",
    "target",
    "timer",
)
MAY_HAVE_ALIASES = ("service", "socket", "target", "device", "timer", "path")
MAY_BE_TEMPLATES = ("service", "socket", "target", "timer", "path")
LONGEST_NAME = 255

_NAME = re.compile(
    r"([A-Za-z0-9:_.\\-]+)(?:@([A-Za-z0-9:_.\\@-]*))?\.(" + "|".join(UNIT_TYPES) + r")", re.ASCII
)
_SPECIFIER = re.compile(r"%(.)")


@dataclass(frozen=True, slots=True)
class UnitName:
    """A name taken apart."""

    prefix: str
    instance: str | None  # None: a plain name; empty: a template
    type: str

    def __str__(self) -> str:
        at = "" if self.instance is None else f"@{self.instance}"
        return f"{self.prefix}{at}.{self.type}"

    @property
    def is_template(self) -> bool:
        """Whether instances can be made of it."""
        return self.instance == ""

    @property
    def is_instance(self) -> bool:
        """Whether it was made of a template."""
        return bool(self.instance)

    def with_instance(self, instance: str) -> str:
        """The name of another instance of the same template; of the template itself where it is empty."""
        return str(UnitName(self.prefix, instance, self.type))

    @property
    def template(self) -> str:
        """The template's name; of a plain name its own."""
        return str(self) if self.instance is None else self.with_instance("")

    @property
    def parents(self) -> Iterator[UnitName]:
        """Names whose drop-ins apply too, the nearest first: its template, `foo-bar-` and `foo-`."""
        if self.is_instance:
            template = UnitName(self.prefix, "", self.type)
            yield template
            yield from template.parents
        # The last component goes, its dash stays: a-b-c, a-b-, a-.
        stem = self.prefix.removesuffix("-").rpartition("-")[0]
        if stem:
            shorter = UnitName(f"{stem}-", self.instance, self.type)
            yield shorter
            yield from shorter.parents

    def expand(self, text: str, default_instance: str = "") -> str:
        """`text` with the specifiers that the name tells; others are left as they are."""
        if "%" not in text:
            return text
        instance = self.instance or default_instance
        whole = self.with_instance(instance) if self.instance is not None else str(self)
        known = {
            "%": "%",
            "i": instance,
            "j": self.prefix.rpartition("-")[2],
            "n": whole,
            "N": whole.removesuffix(f".{self.type}"),
            "p": self.prefix,
        }
        return _SPECIFIER.sub(lambda match: known.get(match[1], match[0]), text)


@lru_cache(maxsize=4096)
def parse_unit_name(name: str) -> UnitName | None:
    """The name's parts; None where systemd would not take it for a unit's."""
    match = _NAME.fullmatch(name) if len(name) <= LONGEST_NAME else None
    return UnitName(match[1], match[2], match[3]) if match else None


def may_be_alias(name: str, other: str) -> bool:
    """Whether systemd accepts a link of the one name that leads to the other."""
    link, target = parse_unit_name(name), parse_unit_name(other)
    return (
        link is not None
        and target is not None
        and name != other
        and link.type == target.type
        and link.type in MAY_HAVE_ALIASES
        and (link.instance is None or link.type in MAY_BE_TEMPLATES)
        and (link.instance is None) == (target.instance is None)
        and (target.is_template or link.instance == target.instance)
    )


def escape_path(path: str) -> str:
    """A path as units of mounts and swaps are named after it, without the type."""
    whole = "/".join(part for part in path.split("/") if part not in ("", "."))
    if not whole:
        return "-"
    escaped = "".join(chr(byte) if byte in _PLAIN else f"\\x{byte:02x}" for byte in whole.encode())
    if escaped[0] == ".":
        escaped = "\\x2e" + escaped[1:]
    return escaped.replace("/", "-")


_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789:_./")
