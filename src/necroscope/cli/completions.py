"""Print a completion script.

necroscope completions bash > /etc/bash_completion.d/necroscope
"""

from __future__ import annotations

import argparse

from necroscope.cli.answer import Answer

SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `completions` understands."""
    parser.add_argument("shell", choices=SHELLS)


def run(arguments: argparse.Namespace) -> Answer:
    """The script for one shell."""
    import shtab

    from necroscope.cli.main import VERBS, build_parser

    parser = build_parser(list(VERBS))
    _learn_all(parser)
    script: str = shtab.complete(parser, arguments.shell)
    return Answer(0, {"shell": arguments.shell, "script": script}, lambda _: script)


def _learn_all(parser: argparse.ArgumentParser) -> None:
    """Have the questions of `fleet` learn their words, which they do not before they are asked."""
    for action in parser._actions:
        for child in action.choices.values() if isinstance(action, argparse._SubParsersAction) else ():
            if learn := getattr(child, "learn", None):
                learn()
            _learn_all(child)
