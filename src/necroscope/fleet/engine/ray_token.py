"""Where the token of a Ray cluster is: as Ray itself looks for it, or in a file that is named."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from necroscope.sources.http_client import check_token, read_token

RAY_HINT = "--token-file FILE, RAY_AUTH_TOKEN_PATH or RAY_AUTH_TOKEN"


def ray_token(token_file: Path | None) -> Callable[[], str]:
    """Return what finds the token each time it is needed; an empty one if there is none.

    In this order: the file that is named, RAY_AUTH_TOKEN, RAY_AUTH_TOKEN_PATH, ~/.ray/auth_token.
    """

    def find() -> str:
        if token_file:
            return read_token(token_file)
        if os.environ.get("RAY_AUTH_MODE", "").lower() == "disabled":
            return ""
        if token := os.environ.get("RAY_AUTH_TOKEN", "").strip():
            return check_token(token, "RAY_AUTH_TOKEN")
        if path := os.environ.get("RAY_AUTH_TOKEN_PATH"):
            return read_token(Path(path))
        usual = _usual_file()
        return read_token(usual) if usual and usual.is_file() else ""

    return find


def _usual_file() -> Path | None:
    try:
        return Path.home() / ".ray" / "auth_token"
    except RuntimeError:  # a user without a home
        return None
