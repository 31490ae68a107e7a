"""The two lines of the live view: every core, and what else is worth a look."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from necroscope.sources.cores import CoreTime

LEVELS = " ▁▂▃▄▅▆▇█"
KERNEL, USER, IDLE = "█", "▒", "·"
WIDEST_BAR, NARROWEST_BAR = 16, 4
ZOMBIES = "zombies"


@dataclass(frozen=True, slots=True)
class Load:
    """What a core did between two looks, as shares of its time."""

    core: int
    kernel_ratio: float
    user_ratio: float


def loads(before: Sequence[CoreTime], after: Sequence[CoreTime]) -> tuple[Load, ...]:
    """The load of every core that both looks saw."""
    earlier = {one.core: one for one in before}
    return tuple(_load(earlier[one.core], one) for one in after if one.core in earlier)


def core_line(cores: Sequence[Load], columns: int) -> str:
    """A bar for each core, the kernel's share first; of many, the kernel's share alone, a character each."""
    if not cores:
        return ""
    legend = f"{KERNEL} kernel {USER} user"
    room = columns - len(legend)
    width = min(room // len(cores) - len(str(cores[-1].core)) - 3, WIDEST_BAR)
    if width >= NARROWEST_BAR:
        return "".join(f"{one.core} {_bar(one, width)}  " for one in cores) + legend
    head = "kernel, core by core: "
    each = -(-len(cores) // (columns - len(head)))  # the fullest of so many: an average would hide it
    groups = [cores[place : place + each] for place in range(0, len(cores), each)]
    levels = (max(one.kernel_ratio for one in group) for group in groups)
    return head + "".join(LEVELS[round(level * (len(LEVELS) - 1))] for level in levels)


def value_line(zombies: int | None, values: Sequence[tuple[str, str]], columns: int) -> str:
    """Zombies and the values of the scenario, as far as they fit; its own count of zombies goes first."""
    is_counted = zombies is not None and ZOMBIES not in dict(values)
    counted = [(ZOMBIES, f"{zombies:,}")] if is_counted else []
    line = " | ".join(f"{name} {value}" for name, value in [*counted, *values])
    return line if len(line) <= columns else line[: columns - 1] + "…"


def _load(before: CoreTime, after: CoreTime) -> Load:
    user = after.user + after.nice - before.user - before.nice
    kernel = sum(getattr(after, mode) - getattr(before, mode) for mode in ("system", "irq", "softirq"))
    rest = sum(getattr(after, mode) - getattr(before, mode) for mode in ("idle", "iowait", "steal"))
    total = max(user + kernel + rest, 1)
    return Load(after.core, kernel / total, user / total)


def _bar(one: Load, width: int) -> str:
    kernel = round(one.kernel_ratio * width)
    user = min(round(one.user_ratio * width), width - kernel)
    return KERNEL * kernel + USER * user + IDLE * (width - kernel - user)
