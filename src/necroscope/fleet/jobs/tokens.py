"""Where the token of a Ray cluster is: as Ray itself looks for it, or in a file that is named."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from necroscope.errors import ClusterError

LARGEST_BYTES = 64 << 10
ONE_WORD = "a token is one word, as Ray or Kubernetes has written it"
RAY_HINT = "--token-file FILE, RAY_AUTH_TOKEN_PATH or RAY_AUTH_TOKEN"


def ray_token(token_file: Path | None) -> Callable[[], str]:
    """What finds the token each time it is needed; an empty one where there is none.

    In this order: the file that is named, RAY_AUTH_TOKEN, RAY_AUTH_TOKEN_PATH, ~/.ray/auth_token.
    """

    def find() -> str:
        if token_file:
            return read_token(token_file)
        if os.environ.get("RAY_AUTH_MODE", "").lower() == "disabled":
            return ""
        if token := os.environ.get("RAY_AUTH_TOKEN", "").strip():
            return _checked(token, "RAY_AUTH_TOKEN")
        if path := os.environ.get("RAY_AUTH_TOKEN_PATH"):
            return read_token(Path(path))
        usual = _usual_file()
        return read_token(usual) if usual and usual.is_file() else ""

    return find


def file_token(path: Path) -> Callable[[], str]:
    """What reads a token from its file each time: Kubernetes renews it every hour."""
    return lambda: read_token(path)


def read_token(path: Path) -> str:
    """The token in a file. ClusterError: there is none."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_BYTES)
    except OSError as error:
        what = f"{path}: {error.strerror or error}"
        raise ClusterError(what, hint="the file of the token must be ours to read") from error
    return _checked(content.decode(errors="replace").strip(), str(path))


def _checked(token: str, source: str) -> str:
    """A token that can stand in a header; another is not shown, only where it is from."""
    if not token:
        raise ClusterError(f"{source} has no token in it", hint=ONE_WORD)
    if not (token.isascii() and token.isprintable() and " " not in token):
        raise ClusterError(f"what {source} holds is not a token", hint=ONE_WORD)
    return token


def _usual_file() -> Path | None:
    try:
        return Path.home() / ".ray" / "auth_token"
    except RuntimeError:  # a user without a home
        return None
