"""A capture, ours or anyone's, made into a segment of the store."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from necroscope import _native
from necroscope.errors import ImportFileError
from necroscope.profiles.idle import idle_rule
from necroscope.profiles.kallsyms import kallsyms_of, running_kallsyms
from necroscope.sources.host import Host
from necroscope.store.clock import take_anchor
from necroscope.store.store import Store, StoredSegment, seal

BOOT_SLACK_SECONDS = 60.0
KERNEL_NAMES_ONLY = "functions of programs have no names: an attempt to name them failed"


@dataclass(frozen=True, slots=True)
class Origin:
    """How the times of a capture stand to the time of day, and how we know."""

    offset_ns: int
    basis: str


def import_file(store: Store, path: Path, *, kallsyms: Path | None = None, host: str = "") -> StoredSegment:
    """Read a capture and add it to the store as a segment of its own."""
    with store.new_segment(host or platform.node()) as folder:
        profile = folder / "profile"
        profile.mkdir()
        facts = _read(path, profile, kallsyms)
        if not facts["samples"]:
            gaps = "; ".join(facts.get("gaps", []))
            raise ImportFileError(f"{path}: no samples in it{f' ({gaps})' if gaps else ''}")
        origin = origin_of(facts, path)
        begin, end = facts.pop("begin_ns") + origin.offset_ns, facts.pop("end_ns") + origin.offset_ns
        description = {
            "host": {
                "hostname": host or facts.get("hostname") or platform.node(),
                "kernel": facts.get("release", ""),
            },
            "begin_ns": begin,
            "end_ns": end,
            "clock": {"offset_ns": origin.offset_ns, "basis": origin.basis},
            "imported_from": path.name,
            "profile": facts,
        }
        return seal(folder, description, begin)


def seal_capture(  # noqa: PLR0913, PLR0917 - what is sealed, and where its parts are
    capture: Path,
    folder: Path,
    boot_id: str,
    begin_ns: int | None,
    end_ns: int | None,
    root: Path | None = Path("/"),
) -> dict[str, Any]:
    """Write the profile of a recorded segment: what perf captured, cut to the time that belongs to it.

    `root` is where the programs are that it names: the host's, for a recorder in a container. Without a root
    no file of theirs is opened, and only the functions of the kernel have names.
    """
    rule = idle_rule()
    try:
        facts = _native.import_perf_data(
            capture,
            folder,
            kallsyms=kallsyms_of(capture.parents[1], boot_id),
            root=root,
            idle=list(rule.idle),
            interrupt=list(rule.interrupt),
            begin=begin_ns,
            end=end_ns,
        )
    except ValueError as error:
        raise ImportFileError(f"{capture}: {error}") from error
    if root is None:
        facts["gaps"].append(KERNEL_NAMES_ONLY)
    return facts


def _read(path: Path, folder: Path, kallsyms: Path | None) -> dict[str, Any]:
    rule = idle_rule()
    rules: dict[str, Any] = {"idle": list(rule.idle), "interrupt": list(rule.interrupt)}
    try:
        # A user who names a link means the file; the native core follows none.
        real = os.path.realpath(path)
        match _native.sniff_profile(real):
            case "perf-script":
                return _native.import_perf_script(real, folder, **rules)
            case "folded":
                return _native.import_folded(real, folder, **rules)
            case _:  # perf.data, or what only its reader can say more about
                symbols = os.path.realpath(kallsyms) if kallsyms else running_kallsyms()
                return _native.import_perf_data(real, folder, kallsyms=symbols, root="/", **rules)
    except ValueError as error:
        raise ImportFileError(f"{path}: {error}", hint="necroscope explain cannot-import") from error
    except OSError as error:
        raise ImportFileError(f"{path}: {error.strerror or error}") from error


def origin_of(facts: Mapping[str, Any], path: Path) -> Origin:
    """How a capture's clock stands to the time of day."""
    if facts.get("clock"):
        _, wall_ns, clock_ns = facts["clock"]
        return Origin(wall_ns - clock_ns, "the capture's own clock data")
    if facts.get("wall_offset_ns") is not None:
        return Origin(facts["wall_offset_ns"], "the capture's head")
    modified_ns = path.stat().st_mtime_ns
    if _is_of_this_boot(facts, modified_ns):
        anchor = take_anchor()
        return Origin(anchor.utc_ns - anchor.monotonic_ns, "this boot's clock, to about a second")
    return Origin(modified_ns - facts["end_ns"], "the time the file was last written")


def _is_of_this_boot(facts: Mapping[str, Any], modified_ns: int) -> bool:
    """perf's own clock counts from boot, nearly as CLOCK_MONOTONIC does."""
    same_machine = (facts.get("hostname"), facts.get("release")) == (platform.node(), os.uname().release)
    end_ns = facts["end_ns"] + time.time_ns() - time.monotonic_ns()
    return same_machine and Host().is_live and abs(end_ns - modified_ns) < BOOT_SLACK_SECONDS * 1e9
