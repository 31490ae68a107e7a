"""Durations and sizes as people write them, and nothing else."""

from __future__ import annotations

import re

import pytest

from necroscope.model.quantities import parse_address, parse_duration, parse_size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10s", 10),
        ("500ms", 0.5),
        ("2m", 120),
        ("2min", 120),
        ("1.5h", 5400),
        ("7d", 7 * 86400),
        ("30", 30),
        ("0", 0),
        (" 5 s ", 5),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("4096", 4096),
        ("100b", 100),
        ("64K", 64 << 10),
        ("64k", 64 << 10),
        ("8GiB", 8 << 30),
        ("8gib", 8 << 30),
        ("8G", 8 << 30),
        ("8GB", 8 * 10**9),
        ("500 MB", 500 * 10**6),
        ("1.5TiB", 3 << 39),
        ("999999999999999999", 999_999_999_999_999_999),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == pytest.approx(size, rel=1e-15)


BAD = [
    "",
    " ",
    "s",
    "-5s",
    "+5s",
    "5 5",
    "1e3",
    "5.s",
    ".5",
    "nan",
    "inf",
    "5s5s",
    "9" * 19,
    "9" * 400,
    "0x10",
]


@pytest.mark.parametrize("text", [*BAD, "10M", "10S", "5w", "5y", "5GiB"])
def test_what_is_no_duration_is_named(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration such as") as error:
        parse_duration(text)
    assert f"'{text}'" in str(error.value)


@pytest.mark.parametrize("text", [*BAD, "5s", "5min", "5 bytes", "5 PB"])
def test_what_is_no_size_is_named(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size such as") as error:
        parse_size(text)
    assert f"'{text}'" in str(error.value)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:9464", ("127.0.0.1", 9464)),
        ("localhost:0", ("localhost", 0)),
        ("[::1]:9464", ("::1", 9464)),
        ("0.0.0.0:1", ("0.0.0.0", 1)),
    ],
)
def test_addresses(text: str, address: tuple[str, int]) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize(
    "text",
    ["", ":9464", "9464", "localhost", "localhost:", "localhost:x", "h:65536", "h:-1", "::1:9464", "[]:1"],
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(text))):
        parse_address(text)
