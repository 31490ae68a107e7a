"""What segment.json may say: all that is read of it later is looked at once, when it is read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from necroscope.model.labels import Labels

BOOT_ID = re.compile(r"[\w-]{0,64}", re.ASCII)
FARTHEST_NS = 2**62  # times are 64-bit numbers, and must stay so when an offset is added
NUMBERS = {name for name, default in ((n, getattr(Labels(), n)) for n in Labels.__slots__) if default == 0}


def parse_description(text: str) -> Mapping[str, Any]:
    """The description; ValueError, KeyError or TypeError where it cannot be one."""
    try:
        document = json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error
    if not isinstance(document, dict):
        raise TypeError("it is no object")
    return document


def check_description(document: Mapping[str, Any]) -> None:
    """ValueError, KeyError or TypeError where a part is not what it should be."""
    _check_host(_is("host", document["host"], dict))
    clock = _is("clock", document["clock"], dict)
    times = {"begin_ns": document["begin_ns"], "offset_ns": clock["offset_ns"]}
    times |= {"end_ns": document["end_ns"]} if "end_ns" in document else {}
    times |= {"suspended_ns": clock["suspended_ns"]} if "synchronised" in clock else {}
    for name, value in times.items():
        if not -FARTHEST_NS <= _is(name, value, int) <= FARTHEST_NS:
            raise ValueError(f"{name} is no time: {value}")
    for file in _is("files", document.get("files", []), list):
        _is("the name of a file", _is("a file", file, dict)["name"], str)
    for row in _is("sources", document.get("sources", {}), dict).values():
        _check_source(_is("a source", row, dict))
    _is("events", document.get("events", {}), dict)
    _is("no_profile", document.get("no_profile") or "", str)
    _check_profile(_is("profile", document.get("profile", {}), dict))


def _check_host(host: Mapping[str, Any]) -> None:
    for row in _is("others", host.get("others", []), list):
        for name in ("name", "value"):
            _is("a label", _is("a label", row, dict)[name], str).encode()
    for name in ("hostname", *Labels.__slots__):
        if name != "others" and (name in host or name == "hostname"):
            value = _is(name, host[name], int if name in NUMBERS else str)
            str(value).encode()  # UnicodeEncodeError: half a character
    if not BOOT_ID.fullmatch(host.get("boot_id", "")):  # the name of a file with symbols
        raise ValueError("boot_id is not that of a boot")


def _check_source(row: Mapping[str, Any]) -> None:
    _is("readings", row["readings"], int)
    _is("absent", row["absent"], int)
    _is("reason", row["reason"], str)


def _check_profile(profile: Mapping[str, Any]) -> None:
    for word in _is("command", profile.get("command") or [], list):
        _is("a word of the command", word, str)
    for name in ("lost_samples", "lost_records"):
        if profile.get(name) is not None:
            _is(name, profile[name], int)


def _is(name: str, value: Any, kind: type) -> Any:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise TypeError(f"{name} is {type(value).__name__}, not {kind.__name__}")
    return value
