"""Words of the command line that several verbs understand."""

from __future__ import annotations

import argparse
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from necroscope.errors import StoreError
from necroscope.model.quantities import parse_duration
from necroscope.store.store_place import default_store

T = TypeVar("T")
ROOT = "NECROSCOPE_ROOT"  # set in a container: whoever asks something in it asks about its host
NO_STORE = "~/.local/state/necroscope"  # of a user without a home


def argument(parse: Callable[[str], T]) -> Callable[[str], T]:
    """A parser that raises ValueError, as argparse wants it: with its message shown."""

    def convert(text: str) -> T:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return convert


duration = argument(parse_duration)


def look_duration(text: str) -> float:
    """A duration long enough to see a change in, and short enough to wait for."""
    seconds = duration(text)
    if not 1 <= seconds <= 3600:
        raise argparse.ArgumentTypeError(f"'{text}' is not between 1s and 1h")
    return seconds


def folder(text: str) -> Path:
    """A directory that exists."""
    try:
        if stat.S_ISDIR(Path(text).stat().st_mode):
            return Path(text)
        why = "it is a file"
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
    raise argparse.ArgumentTypeError(f"'{text}' is not a directory we can enter: {why}")


def add_trust_kmsg(parser: argparse.ArgumentParser) -> None:
    """--trust-kmsg, for the verbs that read the kernel log of a machine."""
    parser.add_argument(
        "--trust-kmsg",
        action="store_true",
        default=None,
        help="treat lines that programs wrote to /dev/kmsg as the kernel's own (default: they do not count)",
    )


def add_root(parser: argparse.ArgumentParser, help: str) -> None:
    """--root, for every verb that looks at a machine."""
    default = os.environ.get(ROOT) or "/"
    parser.add_argument("--root", type=folder, default=default, help=f"{help} (default ${ROOT}, or /)")


def add_store(parser: argparse.ArgumentParser, *, needed: bool = True) -> None:
    """--store, for every verb that reads or writes recordings; None where it can do without and none is."""
    try:
        default: str | None = str(default_store())
    except StoreError:  # said when it is needed: argparse parses a default only where nothing is given
        default = NO_STORE if needed else None
    help_text = "where recordings are (default %(default)s)"
    parser.add_argument("--store", type=_store, default=default, help=help_text)


def _store(text: str) -> Path:
    if text == NO_STORE:
        try:
            return default_store()
        except StoreError as error:
            raise argparse.ArgumentTypeError(f"{error.what}: {error.hint}") from error
    return Path(text)
