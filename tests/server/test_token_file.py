from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from necroscope.errors import UsageError
from necroscope.server.token_file import read_token

TOKEN = "a-token-of-24-characters"


def token_file(folder: Path, content: bytes = TOKEN.encode(), mode: int = 0o600) -> Path:
    path = folder / "token"
    path.write_bytes(content)
    path.chmod(mode)
    return path


def test_a_token_is_read(tmp_path: Path) -> None:
    assert read_token(token_file(tmp_path, TOKEN.encode() + b"\n")) == TOKEN
    assert read_token(token_file(tmp_path, mode=0o400)) == TOKEN


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o601])
def test_others_must_not_read_it(tmp_path: Path, mode: int) -> None:
    with pytest.raises(UsageError, match="other users") as raised:
        read_token(token_file(tmp_path, mode=mode))
    assert "chmod 600" in raised.value.hint


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 23 + b"\n" * 10, b"y" * 5000])
def test_it_has_a_length(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(UsageError, match="24 to 1024"):
        read_token(token_file(tmp_path, content))


@pytest.mark.parametrize(
    "content", [b"two words of a long token", b"\xff" * 30, b"line\nline\nline\nline\nline\n"]
)
def test_it_fits_into_a_header(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(UsageError, match="one word"):
        read_token(token_file(tmp_path, content))


def test_a_file_that_is_none(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing", Path("/dev/null")):
        with pytest.raises(UsageError):
            read_token(path)


@pytest.mark.parametrize(("user", "group", "is_good"), [(0, 0, True), (1, 0, False), (0, 4, False)])
def test_an_access_list_for_our_user_is_good(tmp_path: Path, user: int, group: int, is_good: bool) -> None:
    """As systemd gives a credential to the user of a unit."""
    path = token_file(tmp_path)
    nobody = 2**32 - 1
    entries = [
        (1, 6, nobody),
        (2, 4, os.geteuid() + user),
        (4, group, nobody),
        (16, 4, nobody),
        (32, 0, nobody),
    ]
    acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
    try:
        os.setxattr(path, "system.posix_acl_access", acl)
    except OSError as error:
        pytest.skip(f"this file system has no access lists: {error.strerror}")
    assert path.stat().st_mode & 0o070, "the mask shows as the group's"
    if is_good:
        assert read_token(path) == TOKEN
    else:
        with pytest.raises(UsageError, match="other users"):
            read_token(path)
