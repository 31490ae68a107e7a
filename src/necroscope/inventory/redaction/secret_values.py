"""Whether a value is a secret: by the name that it has, or by what it looks like.

By its looks: known keys, and text that only chance can make.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from necroscope.inventory.redaction.redaction_rules import redaction_rules

REDACTED = "<redacted>"

WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")  # of snake_case, kebab-case and camelCase
IS_PLAIN = re.compile(
    r"(?i)|true|false|yes|no|y|n|on|off|none|null|\d{1,3}|(\d{1,6}(\.\d+)?(ns|us|ms|s|m|h|d|min|sec|kb|mb|gb|k|g))+"
)
IS_PATH = re.compile(r"(/[\w.@%:+-]+){2,}/?")  # of one part, it may as well be a password
MIXED_LETTERS = 8  # a part of a path as long as this is no name if it mixes capitals, letters and digits
HEX = re.compile(r"[0-9a-f]+|[0-9A-F]+")
LETTERS_AND_DIGITS = re.compile(r"[A-Za-z0-9]+")


def is_secret(name: str, value: str, *, is_leaf: bool = True) -> bool:
    """Whether a value under this name must not be shown; a name that is no leaf has others below it."""
    value = value.strip()
    if not value or value == REDACTED:
        return False
    before, _, last = name.replace("/", ".").rpartition(".")
    if redaction_rules().harmless_names.fullmatch(last):
        return bool(before) and is_secret(before, value, is_leaf=False)
    return _is_suspicious(name, is_leaf) and not _is_harmless(name, value)


def _is_suspicious(name: str, is_leaf: bool) -> bool:
    rules = redaction_rules()
    words = _words(name)
    return (
        bool(rules.contains.search(name))
        or any(rules.strict_words.fullmatch(word) or rules.words.fullmatch(word) for word in words)
        or (is_leaf and bool(rules.leaves.intersection(words[-1:])))
    )


def _is_harmless(name: str, value: str) -> bool:
    """Whether a value is plainly no secret, under a name that may have one."""
    rules = redaction_rules()
    words = _words(name)
    if value.lower() in ("true", "false"):
        return True
    if rules.contains.search(name):
        return bool(rules.names_of_files.search(name)) and is_path(value)
    if any(rules.strict_words.fullmatch(word) for word in words) or rules.leaves.intersection(words[-1:]):
        return False
    return bool(IS_PLAIN.fullmatch(value)) or is_path(value)


def _words(name: str) -> list[str]:
    return [word.lower() for word in WORD.findall(name)]


def may_be_secret(name: str) -> bool:
    """Whether there are values under this name that must not be shown."""
    return is_secret(name, "anything")


def is_secret_fact(section: str, name: str, value: str) -> bool:
    """The same for a fact; which parts of its name count depends on the section."""
    parts = _parts_that_count(section, name)
    return any(is_secret(part, value, is_leaf=index == len(parts)) for index, part in enumerate(parts, 1))


def _parts_that_count(section: str, name: str) -> Sequence[str]:
    all_parts = re.split(r"[/.]", name)
    scope = redaction_rules().scopes.get(section, "all")
    return {"all": name.split("/"), "pieces": all_parts, "last": all_parts[-1:], "none": []}[scope]


def is_path(value: str) -> bool:
    """Whether it is the path of a file, and not a key that begins with a slash."""
    return bool(IS_PATH.fullmatch(value)) and not any(
        is_random(part) or _is_mixed(part) for part in value.split("/")
    )


def _is_mixed(part: str) -> bool:
    kinds = ("[a-z]", "[A-Z]", r"\d")
    return len(part) >= MIXED_LETTERS and all(re.search(kind, part) for kind in kinds)


def replace_shapes(text: str, shapes: Iterable[re.Pattern[str]], replacement: str) -> str:
    """Text without what a pattern matches; where a pattern has a group `secret`, without that."""

    def replace(match: re.Match[str]) -> str:
        if "secret" not in match.re.groupindex:
            return replacement
        begin, end = (place - match.start() for place in match.span("secret"))
        return match[0][:begin] + replacement + match[0][end:]

    for shape in shapes:
        text = shape.sub(replace, text)
    return text


def replace_random(text: str, replacement: str) -> str:
    """Text without words that look as if they were made by chance."""
    rules = redaction_rules()
    if len(text) < rules.shortest:
        return text
    kept = [match.span() for match in rules.digest.finditer(text)]

    def replace(match: re.Match[str]) -> str:
        is_digest = any(begin <= match.start() and match.end() <= end for begin, end in kept)
        return match[0] if is_digest or not is_random(match[0]) else replacement

    return rules.long_word.sub(replace, text)


def is_digest(name: str, value: str) -> bool:
    """Whether a value is the hash of something known, by its name: IMAGE_ID, GIT_COMMIT."""
    return bool(redaction_rules().digest.fullmatch(f"{name}={value}"))


def is_random(word: str) -> bool:
    """Whether a word looks as if it was made by chance."""
    rules = redaction_rules()
    if word.startswith("/"):
        return any(is_random(part) for part in word.split("/") if part)
    word = rules.harmless_values.sub("", word)
    if any(_is_random_hex(run) for part in LETTERS_AND_DIGITS.findall(word) for run in HEX.findall(part)):
        return True
    bare = re.sub(r"[^A-Za-z0-9]", "", word)
    if len(word) < rules.shortest or len(set(bare)) < rules.fewest_different:
        return False
    digits = sum(c.isdigit() for c in bare)
    if digits == len(bare):
        return False
    if HEX.fullmatch(bare):
        return digits > 1
    kinds = ["0" if c.isdigit() else "a" if c.islower() else "A" for c in bare]
    changes = sum(one != other for one, other in pairwise(kinds)) / (len(bare) - 1)
    return changes >= (rules.smallest_ratio if digits > 1 else rules.smallest_ratio_of_letters)


def _is_random_hex(run: str) -> bool:
    """24 hexadecimal digits or more, of both kinds, wherever in a word."""
    rules = redaction_rules()
    digits = sum(c.isdigit() for c in run)
    return len(run) >= rules.shortest and 1 < digits < len(run) and len(set(run)) >= rules.fewest_different
