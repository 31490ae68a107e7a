"""Bytes that are the same for the same content, and the names made of them."""

from __future__ import annotations

import hashlib
import json
from typing import Any

SHORT = 16  # characters of a digest in the name of a part


def canonical(document: Any) -> bytes:
    """Return JSON with sorted names and no spaces, UTF-8."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode()


def digest_of(content: bytes) -> str:
    """Return the SHA-256 in hex."""
    return hashlib.sha256(content).hexdigest()
