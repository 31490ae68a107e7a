"""(being written)"""

from __future__ import annotations

import argparse

from necroscope.cli.answer import Answer
from necroscope.errors import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `fleet jobs` understands."""


def run(arguments: argparse.Namespace) -> Answer:
    """Not there yet."""
    raise UsageError("not there yet")
