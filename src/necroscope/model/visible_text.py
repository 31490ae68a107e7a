"""Text from a machine or a recording, so that no name can steer a terminal or disguise a line.

A process, a file, a cgroup or a line of the kernel log can hold any character. All text that is shown to a
person goes through `visible_text`: control characters, marks that turn the direction of writing, and other
characters that nobody sees are written out, as \\x1b or \\u202e.
"""

from __future__ import annotations

import re

LINES = "\n\t"  # what text of several lines may keep
# Letters and marks by Unicode's categories, but nothing is drawn for them, or only a blank.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
# What may have to be written out in the bytes of a JSON text. Every branch begins with a byte that is rare in
# our answers, which are mostly base64.
_PAIR = rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"  # of surrogates: one character
_IN_JSON = re.compile(_PAIR + rb"|\\u[0-9a-fA-F]{4}|\\.|\x7f|[\x80-\xff]+", re.DOTALL)
_SHORT = {b"\\b": "\b", b"\\f": "\f", b"\\r": "\r"}


def visible_text(text: str, keep: str = "") -> str:
    """Return the text with every character that cannot be seen written out, except those in `keep`.

    Text that was made visible once stays as it is.
    """
    bare = text.translate(dict.fromkeys(map(ord, keep))) if keep else text
    if bare.isprintable() and (bare.isascii() or not _BLANK.search(bare)):
        return text
    return "".join(c if c in keep or _is_visible(c) else written_out(c) for c in text)


def visible_json(content: bytes) -> bytes:
    """Return a JSON document in which all strings are visible text; line breaks and tabs stay."""
    if content.isascii() and b"\\" not in content and b"\x7f" not in content:
        return content  # most are, and looking through 9 MB of base64 takes 0.1 s
    return _IN_JSON.sub(_visible_part, content)


def escaped_json(text: str) -> str:
    """Return a JSON text with the same strings in it; what cannot be seen stands there as escapes of JSON."""
    if visible_text(text, LINES) == text:
        return text
    return "".join(c if c in LINES or _is_visible(c) else _json_escape(c) for c in text)


def written_out(character: str) -> str:
    """Return a character as its number, as Python and C write it."""
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[place : place + 4]}" for place in range(0, len(units), 4))


def _is_visible(character: str) -> bool:
    return character.isprintable() and not _BLANK.match(character)


def _visible_part(found: re.Match[bytes]) -> bytes:
    part = found[0]
    text = _meant(part)
    shown = visible_text(text, LINES)
    return part if shown == text else shown.replace("\\", "\\\\").encode()


def _meant(part: bytes) -> str:
    """Return the characters behind an escape of JSON, or an empty text if they are harmless."""
    if part.startswith(b"\\u"):
        units = bytes.fromhex(part.decode().replace("\\u", ""))
        return units.decode("utf-16-be", "surrogatepass")
    if part.startswith(b"\\"):
        return _SHORT.get(part, "")
    return part.decode("utf-8", "surrogatepass")
