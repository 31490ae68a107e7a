"""The file that has the token: for its owner alone, and long enough that nobody guesses it."""

from __future__ import annotations

import os
import stat
import struct
from pathlib import Path

from necroscope.errors import UsageError
from necroscope.model.shell_command import shell_command

SHORTEST_TOKEN = 24
LONGEST_TOKEN = 1024
ACCESS_LIST = "system.posix_acl_access"
ACL_OWNER, ACL_USER, ACL_MASK = 0x01, 0x02, 0x10  # the tags of its entries
MAKE_ONE = "(umask 077; head -c 32 /dev/urandom | base64 > FILE) makes one"


def read_token(path: Path) -> str:
    """The token in a file; UsageError where others could read it, too."""
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            others = _others(file.fileno(), status.st_mode)
            content = file.read(LONGEST_TOKEN + 2)
    except OSError as error:
        raise UsageError(f"--token-file {path}: {error.strerror}", hint=MAKE_ONE) from error
    if not stat.S_ISREG(status.st_mode):
        raise UsageError(f"--token-file {path} is not a file", hint=MAKE_ONE)
    if others:
        raise UsageError(
            f"--token-file {path} is open to other users", hint=shell_command(["chmod", "600"], [str(path)])
        )
    return _checked(path, content)


def _others(file: int, mode: int) -> bool:
    """Whether anybody but the owner and we ourselves may do anything with a file.

    systemd hands out credentials with an access list for the user of the unit; the bits of the group are then
    the mask of the list, and say nothing about a group.
    """
    try:
        acl = os.getxattr(file, ACCESS_LIST)
    except OSError:  # it has none
        return bool(mode & (stat.S_IRWXG | stat.S_IRWXO))
    entries = struct.iter_unpack("<HHI", acl[4:])
    ours = {(ACL_USER, os.geteuid())}
    return any(
        allowed and (tag, user) not in ours
        for tag, allowed, user in entries
        if tag not in (ACL_OWNER, ACL_MASK)
    )


def _checked(path: Path, content: bytes) -> str:
    token = content.strip()
    if not SHORTEST_TOKEN <= len(token) <= LONGEST_TOKEN:
        what = f"--token-file {path}: a token has {SHORTEST_TOKEN} to {LONGEST_TOKEN} characters"
        raise UsageError(what, hint=MAKE_ONE)
    if any(not 0x21 <= byte <= 0x7E for byte in token):  # it has to fit into a header
        what = f"--token-file {path}: a token is one word of letters, digits and signs"
        raise UsageError(what, hint=MAKE_ONE)
    return token.decode("ascii")
