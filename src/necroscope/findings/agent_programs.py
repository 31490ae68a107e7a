"""Which programs a command line of a unit runs, wrappers seen through."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from itertools import dropwhile
from typing import NamedTuple

from necroscope.findings.agent_launchers import (
    ENGINE_FLAGS,
    ENGINE_GROUPS,
    ENGINES,
    INTERPRETERS,
    LAUNCHERS,
    take_options,
)

PREFIXES = "@-:+!|"  # what systemd allows before the program
MOST_CHARACTERS = 20_000  # of one command line; beyond it is not for us to understand
DEEPEST_WRAPPING = 5

SHELLS = {"sh", "bash", "dash", "ash", "zsh", "ksh"}
SHELL_OPTIONS = {"o", "O", "rcfile", "init-file"}  # those that take a value
SCRIPT = re.compile(r".+\.(sh|bash|py|pl|rb|js|lua|php)")
VERSION = re.compile(r"[\d.]+$")
# Stand-ins for a program that is not there: they are no work of anybody's.
NO_PROGRAM = {"true", "false", "sleep"}
# What holds a shell script together and says nothing about what it is for.
BEFORE_COMMANDS = {"if", "then", "else", "elif", "while", "until", "do", "!", "{"}
SHELL_WORDS = NO_PROGRAM | {
    *("for", "in", "done", "fi", "case", "esac", "}", "[", "[[", "test", ":", "exit"),
    *("return", "echo", "printf", "read", "cd", "export", "set", "unset", "trap", "wait", "kill"),
    *("mkdir", "touch", "rm", "cat", "date", "source", ".", "ulimit", "umask", "systemctl", "logger"),
    *("grep", "sed", "awk", "nc", "chmod", "chown"),
}
SCRIPT_BREAKS = re.compile(r"&&|\|\||[;|&()\n`]|\$\(")


class Ran(NamedTuple):
    """The programs that a command runs, as they are written, and whether it could run others, too."""

    programs: tuple[str, ...]
    is_veiled: bool  # a script or a container is run, and what is in it cannot be told from here


VEILED = Ran((), True)


def find_programs(commands: Iterable[str]) -> Ran:
    """What all commands of a unit run. Without any command, that cannot be told."""
    found = [_of_words(_split(command[:MOST_CHARACTERS].lstrip(PREFIXES + " ")), 0) for command in commands]
    programs = tuple(program for ran in found for program in ran.programs)
    return Ran(programs, all(ran.is_veiled for ran in found))


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:  # a quotation without an end
        return text.split()


def _of_words(words: Sequence[str], depth: int) -> Ran:
    if not words or depth > DEEPEST_WRAPPING:
        return VEILED
    program, rest = words[0], words[1:]
    name = program.rpartition("/")[2]
    if name in SHELLS:
        return _of_shell(rest, depth)
    if name in LAUNCHERS:
        return _of_launcher(name, rest, depth)
    if name in ENGINES:
        return _of_engine(program, name, rest)
    if VERSION.sub("", name) in INTERPRETERS:
        return _of_interpreter(program, VERSION.sub("", name), rest)
    is_veiled = name in NO_PROGRAM or SCRIPT.fullmatch(name) or "$" in program or "%" in program
    return Ran((program,), bool(is_veiled))


def _of_launcher(name: str, words: Sequence[str], depth: int) -> Ran:
    """What stands behind `env A=b`, `nice -n 5`, `timeout 60` and the like."""
    launcher = LAUNCHERS[name]
    options, rest = take_options(words, launcher.valued.split().__contains__)
    if name == "runuser" and not options.keys() & {"u", "user"}:
        return _of_launcher("su", words, depth)
    if name == "env" and (text := options.get("S") or options.get("split-string")):
        rest = [*_split(text), *rest]
    if launcher.operands:
        further, rest = take_options(rest[launcher.operands :], launcher.valued.split().__contains__)
        options |= further
    if launcher.script and (scripts := [options[key] for key in launcher.script.split() if key in options]):
        return _of_script(scripts[0], depth + 1)
    if name == "su":
        return VEILED  # the user's own shell
    if launcher.is_assigning:
        rest = list(dropwhile(lambda word: "=" in word, rest))
    ran = _of_words(rest, depth + 1)
    if name == "exec" and "a" in options:  # it goes by this name
        return Ran((options["a"], *ran.programs), ran.is_veiled)
    return ran


def _of_engine(program: str, name: str, words: Sequence[str]) -> Ran:
    """The image that a container is made of, or the name of one that is there; what is in it, nobody says."""
    flags = ENGINE_FLAGS.split()

    def takes_value(option: str) -> bool:
        return name != "snap" and option not in flags

    _, rest = take_options(words, takes_value)
    if rest[:1] and rest[0] in ENGINE_GROUPS:
        _, rest = take_options(rest[1:], takes_value)
    match rest[:1]:
        case ["run" | "create"]:
            images = take_options(rest[1:], takes_value)[1][:1]
            return Ran(tuple(map(_without_tag, images)), True)
        case ["start"]:
            return Ran(tuple(take_options(rest[1:], lambda option: option == "detach-keys")[1][:1]), True)
        case ["exec" | "compose" | "up" | "play" | "kube"]:
            return VEILED
    return Ran((program,), False)


def _of_interpreter(program: str, language: str, words: Sequence[str]) -> Ran:
    """The script that an interpreter is given, whose name may tell."""
    own_scripts, others = (names.split() for names in INTERPRETERS[language])
    options, rest = take_options(words, {*own_scripts, *others}.__contains__)
    if options.keys() & set(own_scripts):
        return Ran((program,), True)
    return Ran((program, *rest[:1]), True)


def _of_shell(words: Sequence[str], depth: int) -> Ran:
    """What a shell runs: the commands of `-c SCRIPT`, or a script that is for others to read."""
    options, rest = take_options(words, SHELL_OPTIONS.__contains__)
    if "c" in options and rest:
        return _of_script(rest[0], depth)
    return Ran(tuple(rest[:1]), True)


def _of_script(script: str, depth: int) -> Ran:
    programs: list[str] = []
    is_veiled = False
    for piece in SCRIPT_BREAKS.split(script):
        inner = _split(piece)
        # What follows `then` is a command, what follows `echo` is not.
        inner = list(dropwhile(lambda word: word in BEFORE_COMMANDS or re.match(r"\w+=", word), inner))
        if inner and inner[0].rpartition("/")[2] in SHELL_WORDS:
            continue
        if inner:
            ran = _of_words(inner, depth + 1)
            programs += ran.programs
            is_veiled |= ran.is_veiled
    return Ran(tuple(programs), is_veiled or not programs)


def _without_tag(image: str) -> str:
    """`amazon/amazon-ecs-agent` of `amazon/amazon-ecs-agent:latest`."""
    folder, slash, name = image.rpartition("/")
    return folder + slash + re.split("[:@]", name, maxsplit=1)[0]
