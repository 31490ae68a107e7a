"""The command line: find the verb, run it, print what it answers, and exit.

Verbs are imported when they are called, so that --help and a typing error cost nothing.
"""

from __future__ import annotations

import argparse
import errno
import keyword
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

from necroscope import __version__
from necroscope.cli.answer import Answer, envelope
from necroscope.cli.screen import screen_of
from necroscope.errors import NecroscopeError, UsageError
from necroscope.model.visible_text import LINES, visible_text

VERBS = {
    "doctor": "look at this node now: verdict, evidence, what to do, what could not be checked",
    "record": "record this node all the time: every core every second, the kernel log, rolling perf",
    "timeline": "the state of every core in every second of a recorded range, and what happened in it",
    "events": "what happened in a recorded range, each with the id that `flame --around` takes",
    "import": "add a capture to the store: perf.data, perf script text, folded stacks",
    "scope": "the subsecond-offset heatmap of a recorded range, in the terminal",
    "flame": "the flame graph of any moment and any core, or its difference to another",
    "diagnose": "why it happened: the causal chain over a recorded range, and what was ruled out",
    "culprit": "who and what ran more than usual in the seconds before an event, and is it chance",
    "zombies": "memory cgroups: tracked, in use, zombies; who leaks them, what they cost, time to the wall",
    "audit": "what runs here or in an image without being needed: every unit, its origin, cost and use",
    "snapshot": "what this host is made of, in one file to compare with others; secrets never enter it",
    "drift": "why hosts that should be alike are not: what differs, the likeliest to matter first",
    "fix": "what to do about it: a plan, and with --apply the deed, on record and with a way back",
    "verify": "did it help: the same quantities before and after a fix, with a verdict and how sure it is",
    "report": "the post-incident report: what happened, why, what was changed, whether it helped",
    "serve": "the page: what happened, in a browser; or one file of it, for a ticket",
    "fleet": "many hosts: where it concentrates, who is next, who did it, which jobs died of it, did it help",
    "rules": "alert rules for Prometheus and files for other tools, from the rules that we go by",
    "kubernetes": "what this node tells its cluster: conditions and events; show, report, remove",
    "seal": "make what a dead recorder left open columnar; the recorder does it by itself",
    "explain": "the manual page of a finding, event, rule, source or error",
    "list": "what there is: sources, detectors, events, rules, thresholds, remedies",
    "completions": "print a completion script for bash, zsh or fish",
}
HEAD = """
  necroscope doctor                  look at this node now
  necroscope doctor -d 30s --json    longer, for a program
"""
EXIT_CODES = """exit codes:
  0    nothing found
  1    findings (info alone leaves 0)
  2    usage, or our own fault
  3    could not look
  4    a fix did not help
  130  interrupted"""


class _Parser(argparse.ArgumentParser):
    """An argument parser that raises instead of exiting."""

    def error(self, message: str) -> NoReturn:
        hint = f"{self.prog} --help"
        if message.startswith("unrecognized arguments: -"):
            hint += "; a name that begins with - comes last, behind --, as in fix disable-unit -- -.mount"
        raise UsageError(message, hint=hint)


def main(argv: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    verb, wants_json = _verb_in(argv), "--json" in argv
    try:
        arguments = build_parser([verb] if verb else []).parse_args(argv)
        answer: Answer = _module(arguments.verb).run(arguments)
        screen = screen_of(sys.stdout)
        text = (
            envelope(arguments.verb, answer.ok, answer.body)
            if arguments.json
            else screen.shown(answer.render(screen))
        )
    except NecroscopeError as error:
        return _report(error, verb or "", wants_json=wants_json)
    except BrokenPipeError:  # the reader of a verb that writes as it goes went away
        raise
    except Exception as error:
        what = f"internal error: {type(error).__name__}: {error}"
        hint = "please report it; NECROSCOPE_TRACEBACK=1 shows where it happened"
        if os.environ.get("NECROSCOPE_TRACEBACK"):
            raise
        return _report(NecroscopeError(what, hint=hint), verb or "", wants_json=wants_json)
    _print(text)
    return answer.exit_code


def build_parser(verbs: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of the whole command line, with the arguments of the given verbs."""
    common = _Parser(add_help=False)
    common.add_argument(
        "--json", action="store_true", default=argparse.SUPPRESS, help="print one JSON object on stdout"
    )
    style: dict[str, Any] = {"formatter_class": argparse.RawDescriptionHelpFormatter, "epilog": EXIT_CODES}
    parser = _Parser(
        prog="necroscope",
        usage="necroscope VERB [options]",
        description=f"Find what starves a Linux node.\n{HEAD}",
        **style,
    )
    parser.add_argument("--version", action="version", version=f"necroscope {__version__}")
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    choices = parser.add_subparsers(
        dest="verb", metavar="VERB", required=True, title="verbs", prog="necroscope", parser_class=_Parser
    )
    for name, help_text in VERBS.items():
        module = _module(name) if name in verbs else None
        description = screen_of(sys.stdout).page((module.__doc__ or "").strip()) if module else help_text
        child = choices.add_parser(name, help=help_text, description=description, parents=[common], **style)
        if module:
            module.add_arguments(child)
    return parser


def run() -> NoReturn:
    """The program's entry point, and the only place that exits."""
    try:
        code = main(sys.argv[1:])
        if sys.stdout:
            sys.stdout.flush()
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:  # the reader went away (head, less): not our error
        _forget_output()
        code = 128 + signal.SIGPIPE
    except OSError as error:
        _forget_output()
        code = _report(NecroscopeError(f"cannot write the output: {error.strerror}"), "", wants_json=False)
    sys.exit(code)


def _forget_output() -> None:
    """Keep Python from complaining at exit about what could not be written."""
    if sys.stdout:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _module(verb: str) -> Any:
    """The module of a verb; `import` is a word of Python's, so its file has an underscore."""
    return import_module(f"necroscope.cli.{verb}{'_' if keyword.iskeyword(verb) else ''}")


def _verb_in(argv: Sequence[str]) -> str | None:
    return next((word for word in argv if word in VERBS), None)


def _report(error: NecroscopeError, verb: str, *, wants_json: bool) -> int:
    hint = f"\n  {error.hint}" if error.hint else ""
    if sys.stderr:
        print(visible_text(f"necroscope: {error.what}{hint}", LINES), file=sys.stderr)  # noqa: T201
    if wants_json:
        problem = {"slug": error.slug, "what": error.what, "hint": error.hint}
        _print(envelope(verb, False, {"error": problem}))
    return error.exit_code


def _print(text: str) -> None:
    if sys.stdout is None:  # closed by the caller
        raise OSError(errno.EBADF, "standard output is closed")
    print(text)  # noqa: T201
