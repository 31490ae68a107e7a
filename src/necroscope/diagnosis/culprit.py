"""Who and what ran more than usual in a window: processes, kernel functions, and pairs of them.

The share of a second is that of the samples in the fullest second, since a hardware clock does not sample
idle cores. A suspect is significant if its share in the window is at least `culprit.share` of a core and
`culprit.lift` times that in the quiet seconds, and chance alone would do as much to any of all that were
compared with a probability of at most `culprit.probability` (quiet_baseline/quiet_seconds and
statistics/chance_of_peaks say how).
That it ran then and not otherwise does not make it the cause; and what always runs is no suspect, whatever
harm it does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import cast

from necroscope.diagnosis.quiet_baseline.baseline import AROUND_NS
from necroscope.diagnosis.quiet_baseline.compared_seconds import Compared, Key, Shares, compare
from necroscope.model.culprit import Kind, Ranking, Suspect, Way
from necroscope.profiles.skip_unreadable import skip_unreadable
from necroscope.profiles.window import Selection
from necroscope.signals.thresholds import Thresholds
from necroscope.statistics.chance_of_peaks import chance, seconds_above
from necroscope.store.store import Damage, StoredSegment
from necroscope.store.stored_events import StoredEvent, events_between

KERNEL = "kernel"  # the way of all that a process did in the kernel; not compared


def find_culprits(
    segments: Sequence[StoredSegment],
    windows: Sequence[Selection],
    events: Sequence[StoredEvent],
    thresholds: Thresholds,
) -> Ranking:
    """Rank who stands out in all of these windows against the quiet seconds around them.

    Of a selection its time and its cores count. `events` are those of ten minutes around the windows. Several
    windows must be of one boot and must not overlap; what is common to them comes first. NoSamplesError:
    there are none in the windows.
    """
    compared = compare(segments, windows, events, thresholds)
    judge = _Judge(compared, thresholds)
    suspects = judge.suspects()
    culprit = _culprit(compared, suspects)
    ranked = sorted(suspects, key=lambda s: (s != culprit, not s.is_significant, -s.windows, -_excess(s)))
    return Ranking(
        cores=tuple(sorted(compared.cores)),
        window_seconds=len(compared.window_of),
        quiet_seconds=compared.quiet,
        windows=len(set(compared.window_of)),
        compared=judge.number,
        suspects=tuple(suspect for suspect in ranked if _excess(suspect) > 0),
        culprit=culprit,
        note=judge.note,
    )


def culprits_around(
    segments: list[StoredSegment],
    windows: Sequence[Selection],
    thresholds: Thresholds,
    damaged: list[Damage],
) -> tuple[Ranking, list[StoredSegment]]:
    """Rank with what happened around the windows; also return the segments that are not damaged.

    Errors are those of `find_culprits`.
    """
    begin_ns, end_ns = min(one.begin_ns for one in windows), max(one.end_ns for one in windows)
    wide = replace(windows[0], begin_ns=begin_ns, end_ns=end_ns).widened(AROUND_NS)
    events = events_between(segments, wide, damaged)
    return skip_unreadable(
        lambda some: find_culprits(some, windows, events, thresholds), segments, wide, damaged
    )


@dataclass(slots=True)
class _Judge:
    """Compares every suspect with the quiet seconds, and allows for how many are compared."""

    compared: Compared
    thresholds: Thresholds

    @property
    def number(self) -> int:
        """How many different suspects there are: two that ran in the same seconds are one comparison."""
        rows = self._rows()
        return len({(*shares.window, *shares.quiet) for _, shares in rows})

    @property
    def note(self) -> str:
        """Why nothing may be called significant."""
        enough = int(self.thresholds["culprit.quiet_seconds"])
        if self.compared.quiet >= enough:
            return ""
        return f"only {self.compared.quiet} quiet seconds to compare with, of {enough} that it takes"

    def suspects(self) -> list[Suspect]:
        """All of them, in no order."""
        number, is_enough = self.number, not self.note
        return [self._suspect(key, shares, number, is_enough=is_enough) for key, shares in self._rows()]

    def _rows(self) -> list[tuple[Key, Shares]]:
        return [(key, shares) for key, shares in self.compared.shares.items() if key[2] != KERNEL]

    def _suspect(self, key: Key, shares: Shares, number: int, *, is_enough: bool) -> Suspect:
        least = self.thresholds["culprit.share"] * self.compared.one_core
        # A few stray samples in a second are not a second in which it ran; so in all seconds alike.
        window = [share if share >= least / 2 else 0.0 for share in shares.window]
        quiet = [share if share >= least / 2 else 0.0 for share in shares.quiet]
        probability = min(chance(window, quiet, self.compared.neighbours) * number, 1.0)
        share, quiet_share = fmean(shares.window), fmean(shares.quiet) if shares.quiet else 0.0
        lift = share / quiet_share if quiet_share else None
        process, function, way = key
        kind: Kind = "process" if not function else "pair" if process else "function"
        return Suspect(
            kind=kind,
            process=process,
            function=function,
            way=cast(Way, way),
            share=share,
            quiet_share=quiet_share,
            lift=lift,
            seconds_above=seconds_above(window, quiet) if quiet else 0,
            probability=probability,
            is_significant=is_enough
            and probability <= self.thresholds["culprit.probability"]
            and share >= least
            and (lift is None or lift >= self.thresholds["culprit.lift"]),
            windows=self._windows(window, quiet),
        )

    def _windows(self, window: Sequence[float], quiet: Sequence[float]) -> int:
        """In how many windows it is above every quiet second for half of the time."""
        highest = max(quiet, default=0.0)
        above: dict[int, list[bool]] = {}
        for number, share in zip(self.compared.window_of, window, strict=True):
            above.setdefault(number, []).append(share > highest)
        return sum(2 * sum(seconds) >= len(seconds) for seconds in above.values())


def _culprit(compared: Compared, suspects: Sequence[Suspect]) -> Suspect | None:
    """The process with the largest significant excess, in the deepest kernel function that explains it."""
    significant = [suspect for suspect in suspects if suspect.is_significant]
    by_process = [suspect for suspect in significant if suspect.process]
    if not by_process:  # many processes together, in the same function
        return _deepest(compared, significant, max(map(_excess, significant), default=0.0))
    first = max(by_process, key=lambda s: (s.windows, _excess(s), s.kind == "process"))
    whole = next((s for s in significant if s.kind == "process" and s.process == first.process), None)
    kernel = compared.shares.get((first.process, "", KERNEL))
    in_kernel = fmean(kernel.window) - fmean(kernel.quiet) if kernel else 0.0
    if whole and 2 * in_kernel < _excess(whole):
        return whole  # it was busy in user space
    pairs = [s for s in by_process if s.kind == "pair" and s.process == first.process]
    return _deepest(compared, pairs, in_kernel) or whole or first


def _deepest(compared: Compared, suspects: Iterable[Suspect], excess: float) -> Suspect | None:
    """The function with the smallest share that still holds half of an excess, with all that it calls."""
    holding = [s for s in suspects if s.way == "inclusive" and 2 * _excess(s) >= excess]
    return min(
        holding,
        key=lambda s: (-s.windows, _excess(s), -compared.shares[s.process, s.function, s.way].depth),
        default=None,
    )


def _excess(suspect: Suspect) -> float:
    return suspect.share - suspect.quiet_share


def suspect_name(suspect: Suspect) -> str:
    """`kubelet in mem_cgroup_nr_lru_pages`; alone: without what the function calls."""
    alone = " alone" if suspect.way == "self" else ""
    return " in ".join(filter(None, (suspect.process, suspect.function))) + alone


def ranking_verdict(ranking: Ranking) -> str:
    """Who stands out, in a sentence, or why nobody does."""
    culprit = ranking.culprit
    if culprit is None:
        return f"nothing can be said: {ranking.note}" if ranking.note else "nothing stands out"
    where = " in user space" if culprit.kind == "process" else ""
    common = f", in {culprit.windows} of {ranking.windows} windows" if ranking.windows > 1 else ""
    time = "the time" if ranking.cores else "the time of all cores"
    return (
        f"{suspect_name(culprit)} stands out{where}: {100 * culprit.share:.2g}% of {time} against "
        f"{100 * culprit.quiet_share:.2g}% in quiet seconds{common}"
    )
