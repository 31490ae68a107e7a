"""`-o FILE`, which never overwrites without `-f`."""

from __future__ import annotations

import argparse
from pathlib import Path

from necroscope.errors import UsageError
from necroscope.recording.durable import write_durably, write_new


def add_output(parser: argparse.ArgumentParser, help_text: str) -> None:
    """The words -o and -f."""
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help=help_text)
    parser.add_argument("-f", "--force", action="store_true", help="overwrite the file")


def refuse_existing(arguments: argparse.Namespace) -> None:
    """Say so before a long look, and not after it."""
    if arguments.output and not arguments.force and arguments.output.exists():
        raise UsageError(f"{arguments.output} exists", hint="-f overwrites it")


def write_output(path: Path, data: bytes, *, force: bool) -> None:
    """Write a new file, or with `force` in place of an old one. A pipe or a device is only written to."""
    try:
        if not force:
            write_new(path, data)
        elif path.exists() and not path.is_file():  # /dev/stdout, a named pipe
            with path.open("wb") as file:
                file.write(data)
        else:
            write_durably(path, data, mode=None)
    except FileExistsError as error:
        raise UsageError(f"{path} exists", hint="-f overwrites it") from error
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
