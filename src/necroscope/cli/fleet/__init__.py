"""Many hosts: where events concentrate, who is next, who did it, which jobs died of it, did it help.

necroscope fleet ingest --fleet s3://bucket/fleet          what hosts have shipped, into tables; every hour
necroscope fleet where --fleet s3://bucket/fleet -b 7d     do NIC resets concentrate, and in what

A host ships what its recorder sees when its configuration names a place: [fleet] place = "s3://...".
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from typing import Any

from necroscope.cli.answer import Answer
from necroscope.cli.screen import screen_of

QUESTIONS = {
    "where": "do events concentrate by zone, image, kernel, driver, unit, ...",
    "next": "when each host reaches the wall, the soonest first",
    "culprit": "what ran in the seconds before events, across the fleet",
    "flame": "the same seconds as one flame graph",
    "drift": "which differences explain failing and healthy hosts",
    "jobs": "which jobs failed because of a node, and how much that explains",
    "fixed": "did a roll-out help, against hosts without it",
    "ingest": "what hosts have shipped, into tables; once an hour, or all the time with --every",
    "ship": "send what this host has recorded; the recorder does it by itself",
    "request": "ask a host for the samples of a range of time",
}


class Later:
    """A parser of a question that learns its words when it is asked: importing them all takes 0.2 s."""

    question = ""

    def learn(self) -> None:
        """Its words, once."""
        assert isinstance(self, argparse.ArgumentParser)
        if name := self.question:
            self.question = ""
            module = _module(name)
            self.description = screen_of(sys.stdout).page((module.__doc__ or "").strip())
            self.add_argument(
                "--json", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS
            )
            module.add_arguments(self)

    def parse_known_args(self, *arguments: Any, **named: Any) -> Any:
        """As any parser, when it has learnt."""
        self.learn()
        return super().parse_known_args(*arguments, **named)  # type: ignore[misc]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The questions; the words of each are learnt by the one that is asked."""
    kind = type("LaterParser", (Later, type(parser)), {})
    choices: argparse._SubParsersAction[Any] = parser.add_subparsers(
        dest="question", metavar="QUESTION", required=True, title="questions", parser_class=kind
    )
    for name, help_text in QUESTIONS.items():
        child = choices.add_parser(name, help=help_text, formatter_class=argparse.RawDescriptionHelpFormatter)
        child.question = name


def run(arguments: argparse.Namespace) -> Answer:
    """Ask."""
    answer: Answer = _module(arguments.question).run(arguments)
    return Answer(answer.exit_code, {"question": arguments.question, **answer.body}, answer.render)


def _module(question: str) -> Any:
    return import_module(f"necroscope.cli.fleet.{question}")
