"""Text from recordings, so that a name can neither steer a terminal nor turn a line around.

A process may call itself what it likes. Control characters and the marks that change the direction of
writing are shown as what they are; line breaks and tabs stay.
"""

from __future__ import annotations

import re

_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_INVISIBLE = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff{_BIDI}\ud800-\udfff]")
# The same in the bytes of a JSON text, which has control characters as escapes and the rest as it is. Every
# branch begins with a byte that is rare in our answers, which are mostly base64.
_PAIR = rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"  # of surrogates: one visible sign
_RAW = rb"\x7f|\xc2[\x80-\x9f]|\xd8\x9c|\xe2[\x80\x81].|\xed[\xa0-\xbf].|\xef\xbb\xbf"
_IN_JSON = re.compile(_PAIR + rb"|\\u([0-9a-fA-F]{4})|\\.|" + _RAW, re.DOTALL)
_SHORT = {b"\\b": "\b", b"\\f": "\f", b"\\r": "\r"}


def visible_text(text: str) -> str:
    """The text, with what cannot be seen written out."""
    return _INVISIBLE.sub(lambda found: _written_out(found[0]), text)


def visible_json(content: bytes) -> bytes:
    """A JSON document in which all strings are visible text."""
    if content.isascii() and b"\\" not in content and b"\x7f" not in content:
        return content  # most are, and looking through 9 MB of base64 takes 0.1 s
    return _IN_JSON.sub(_escaped, content)


def _escaped(found: re.Match[bytes]) -> bytes:
    whole, code = found[0], found[1]
    character = chr(int(code, 16)) if code else _SHORT.get(whole) or whole.decode("utf-8", "surrogatepass")
    if len(character) > 1 or not _INVISIBLE.match(character):
        return whole
    return _written_out(character).replace("\\", "\\\\").encode()


def _written_out(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
