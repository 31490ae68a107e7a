"""Secrets that show by what they look like: known keys, and text that only chance can make."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

from necroscope.inventory.redaction.redaction_rules import redaction_rules

HEX = re.compile(r"[0-9a-f]+|[0-9A-F]+")
LETTERS_AND_DIGITS = re.compile(r"[A-Za-z0-9]+")


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
