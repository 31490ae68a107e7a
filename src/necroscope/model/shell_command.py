"""Commands that a person may paste into a shell: the only place that quotes.

A unit, a file or a process can have any name. Here it always becomes one word: it cannot add a command, an
option, a line or an order for the terminal, neither in a script nor typed into an interactive bash or zsh,
which also act on `!` and tabs and, in zsh, on what follows a `#`.

A word with characters that cannot be seen is written as $'a\\nb'. bash, zsh, ksh and POSIX.1-2024 understand
that; dash and other old shells of /bin/sh do not, and see a name that begins with a dollar sign.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from necroscope.model.visible_text import visible_text, written_out

PLAIN = re.compile(r"[A-Za-z0-9_@%+:,./-][A-Za-z0-9_@%+=:,./-]*")  # zsh expands =word
PLAIN_COMMENT = re.compile(r"[A-Za-z0-9_@%+=:,./ -]*")
LIKE_OPTION = "-"  # how a name begins that has to stand behind --, as -.mount and -.slice
CONTINUED = " \\\n  "  # on the next line
ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def shell_command(words: Iterable[str], names: Iterable[str] = (), *, into: str = "") -> str:
    """Return a command of these words; `names` stand behind `--`, so that none of them is an option.

    Words are ours, or values of options. Names are what a machine or a recording calls things; the command
    must understand `--`. `into` is a file that the command's output is written to.
    """
    names = list(names)
    shown = [shell_word(word) for word in (*words, *(["--"] if names else []), *names)]
    return " ".join([*shown, *([f">{shell_word(into)}"] if into else [])])


def necroscope_command(verb: str, names: Iterable[str] = (), options: Iterable[str] = ()) -> str:
    """Return a command of ours: verb, names, options, as a person would type it.

    Only if a name looks like an option, the options come first and the names behind `--`. A verb of two words
    (`fleet request`) is one of ours, too.
    """
    names = list(names)
    if any(name.startswith(LIKE_OPTION) for name in names):
        return shell_command(["necroscope", *verb.split(), *options], names)
    return shell_command(["necroscope", *verb.split(), *names, *options])


def option(name: str, value: str) -> tuple[str, ...]:
    """Return the words of an option of ours; a value that looks like an option has to be joined to it."""
    return (f"{name}={value}",) if value.startswith(LIKE_OPTION) else (name, value)


def shell_word(word: str) -> str:
    """Return the word quoted: the shells named above read exactly this word again."""
    if PLAIN.fullmatch(word):
        return word
    if visible_text(word) == word:
        return "'{}'".format(word.replace("'", r"'\''"))
    return f"$'{''.join(map(_escaped, word))}'"


def shell_comment(text: str) -> str:
    """Return a line that does nothing. An interactive zsh knows no comments, and finds no command `#`."""
    return f"# {text if PLAIN_COMMENT.fullmatch(text) else shell_word(text)}"


def write_file_command(path: str, text: str) -> str:
    """Return the command that writes a text into a file, a line of it on each line.

    Unlike a here-document, it may be indented, and no line of the text can end it.
    """
    *lines, rest = text.split("\n")
    if rest or not lines:
        return shell_command(["printf", "%s", text], into=path)
    printed = CONTINUED.join([shell_command(["printf", r"%s\n"]), *map(shell_word, lines)])
    return f"{printed} >{shell_word(path)}"


def _escaped(character: str) -> str:
    """Return a character as it stands inside $'...'.

    What cannot be seen stands there as its bytes in octal: these mean the same in every locale, and the end
    of each is clear, whatever follows.
    """
    if character in ESCAPES:
        return ESCAPES[character]
    if character == "\0":  # no word can hold it, and a shell would end the word here
        return f"\\{written_out(character)}"
    if visible_text(character) == character:
        return character
    is_byte = "\udc80" <= character <= "\udcff"  # of a name that is not UTF-8
    encoded = character.encode("utf-8", "surrogateescape" if is_byte else "surrogatepass")
    return "".join(f"\\{byte:03o}" for byte in encoded)
