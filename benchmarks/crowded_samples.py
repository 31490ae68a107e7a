"""Gives generated segments the samples of a whole host: 97 a second of every busy core, in many stacks.

    python benchmarks/crowded_samples.py STORE [--segments 30]

For a store of benchmarks/generate_days.py, the newest segments first. What a segment had of samples before is
replaced. A core that is idle is not sampled, as with a hardware clock. There are 20,000 different stacks, ten
functions deep, as many as a busy host has in two minutes.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.generate_days import BEGIN_NS, HOST, SEGMENT_SECONDS, Plan, ticks_of
from benchmarks.generated_samples import HERTZ, KERNEL, USER_LIBRARY, WALK, WALKING, Ticks
from necroscope import _native
from necroscope.model.timestamp import SECOND_NS
from necroscope.profiles.idle import idle_rule
from necroscope.store.store import DESCRIPTION, Store, StoredSegment, describe_files, read_document

STACKS = 20_000
DEPTH = 10
CORES = 96
DRAWN_SECONDS = 10
PROCESSES = ("server", "containerd", "kubelet", "envoy", "etcd", "fluentbit", "java", "node")

Stack = tuple[str, str]  # the process and its number, and the frames


def _frames(names: Sequence[str], in_kernel: bool) -> str:
    place = f"ffffffff81200010 {{}}+0x10 ({KERNEL})" if in_kernel else f"47a3c1 {{}}+0x11 ({USER_LIBRARY})"
    return "".join(f"\t{place.format(name)}\n" for name in reversed(names))


def _stack(drawn: random.Random, sort: str) -> Stack:
    """Every level has some functions to choose from: what is near the root is shared."""
    number = drawn.randrange(len(PROCESSES))
    below = [f"{PROCESSES[number]}_{level}_{drawn.randrange(3 + level)}" for level in range(DEPTH // 2)]
    above = [f"{sort}_{level}_{drawn.randrange(3 + level)}" for level in range(DEPTH // 2)]
    return f"{PROCESSES[number]} {number + 1000}/{number + 1000}", (
        _frames(above, in_kernel=sort != "user") + _frames(below, in_kernel=False)
    )


def _stacks() -> dict[str, list[Stack]]:
    drawn = random.Random(1)
    sorts = ("user", "system", "softirq")
    return {sort: [_stack(drawn, sort) for _ in range(STACKS // len(sorts))] for sort in sorts}


WALKED: Stack = f"{WALK[0]} 1742/1742", _frames(WALK[1], in_kernel=True) + _frames(["main"], in_kernel=False)


def crowded_text(seconds: Sequence[Sequence[Ticks]], begin_ns: int) -> Iterator[str]:
    """The samples of all busy cores as `perf script` prints them, a second at a time.

    Ten seconds are drawn and repeated in turn, but for those in which a core walks: drawing takes longest.
    """
    stacks, drawn = _stacks(), random.Random(begin_ns)
    patterns = [_second(cores, stacks, drawn) for cores in seconds[:DRAWN_SECONDS]]
    for second, cores in enumerate(seconds):
        is_stall = any(ticks[1] == WALKING for ticks in cores)
        text = _second(cores, stacks, drawn) if is_stall else patterns[second % DRAWN_SECONDS]
        yield text.replace("@", str(begin_ns // SECOND_NS + second))


def _second(cores: Sequence[Ticks], stacks: dict[str, list[Stack]], drawn: random.Random) -> str:
    """One second, with @ in its place."""
    lines = []
    for tick in range(HERTZ):
        when = f"@.{tick * 1_000_000 // HERTZ:06d}"
        for core, ticks in enumerate(cores):
            if found := _seen(ticks, stacks, drawn):
                lines.append(f"{found[0]} [{core:03d}] {when}:   10101010 cpu-clock:\n{found[1]}\n")
    return "".join(lines)


def _seen(ticks: Ticks, stacks: dict[str, list[Stack]], drawn: random.Random) -> Stack | None:
    user, system, softirq = ticks
    if system == WALKING:
        return WALKED
    at = int(drawn.random() * 100)
    if at >= user + system + softirq:
        return None
    some = stacks["user" if at < user else "system" if at < user + system else "softirq"]
    return some[int(len(some) * drawn.random() ** 2)]  # some are seen often, most are not


def crowd(plan: Plan, segment: StoredSegment) -> int:
    """Give one segment its samples; how many there are."""
    begin_ns = segment.begin_ns - segment.offset_ns
    number = (begin_ns - BEGIN_NS) // (SEGMENT_SECONDS * SECOND_NS)
    rule = idle_rule()
    profile = segment.folder / "profile"
    shutil.rmtree(profile, ignore_errors=True)
    profile.mkdir()
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.writelines(crowded_text(ticks_of(plan, number), begin_ns))
        file.flush()
        facts = _native.import_perf_script(
            Path(file.name), profile, idle=list(rule.idle), interrupt=list(rule.interrupt)
        )
    facts.pop("lines")
    document = {key: value for key, value in read_document(segment.folder).items() if key != "no_profile"}
    names = [path for path in segment.folder.iterdir() if path.name != DESCRIPTION]
    document |= {"profile": dict(facts), "files": describe_files(segment.folder, names)}
    (segment.folder / DESCRIPTION).write_text(json.dumps(document))
    return int(facts["samples"])


def main() -> None:
    """Crowd the newest segments, one after the other: it can be stopped at any time."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("store", type=Path)
    parser.add_argument("--segments", type=int, default=30)
    arguments = parser.parse_args()
    segments = [one for one in Store(arguments.store).segments() if one.host == HOST]
    plan = Plan(arguments.store, len(segments), CORES)
    for segment in reversed(segments[-arguments.segments :]):
        print(f"{segment.folder.name}: {crowd(plan, segment):,} samples", flush=True)


if __name__ == "__main__":
    main()
