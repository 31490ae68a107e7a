"""Many hosts: where events concentrate, who is next, who did it, which jobs died of it, did it help.

necroscope fleet ingest --fleet s3://bucket/fleet          what hosts have shipped, into tables; every hour
necroscope fleet where --fleet s3://bucket/fleet -b 7d     do NIC resets concentrate, and in what

A host ships what its recorder sees when its configuration names a place: [fleet] place = "s3://...".
"""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import Any

from necroscope.cli.answer import Answer

QUESTIONS = {
    "where": "do events concentrate by zone, image, kernel, driver, unit, ...",
    "next": "when each host reaches the wall, the soonest first",
    "culprit": "what ran in the seconds before events, across the fleet",
    "drift": "which differences explain failing and healthy hosts",
    "jobs": "which jobs failed because of a node, and how much that explains",
    "fixed": "did a roll-out help, against hosts without it",
    "ingest": "what hosts have shipped, into tables; once an hour, or all the time with --every",
    "ship": "send what this host has recorded; the recorder does it by itself",
    "request": "ask a host for the samples of a range of time",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The questions, and the words of each."""
    choices = parser.add_subparsers(
        dest="question", metavar="QUESTION", required=True, title="questions", parser_class=type(parser)
    )
    for name, help_text in QUESTIONS.items():
        module = _module(name)
        child = choices.add_parser(
            name,
            help=help_text,
            description=(module.__doc__ or "").strip(),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        child.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
        module.add_arguments(child)


def run(arguments: argparse.Namespace) -> Answer:
    """Ask."""
    answer: Answer = _module(arguments.question).run(arguments)
    return Answer(answer.exit_code, {"question": arguments.question, **answer.body}, answer.render)


def _module(question: str) -> Any:
    return import_module(f"necroscope.cli.fleet.{question}")
