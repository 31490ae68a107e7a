"""Who and what ran more than usual in a range, on some cores or all."""

from __future__ import annotations

from dataclasses import dataclass

from necroscope.diagnosis.culprit import culprits_around, suspect_name
from necroscope.model.culprit import Ranking
from necroscope.model.culprit import Suspect as Ranked
from necroscope.profiles.window import Selection
from necroscope.server.questions.recorded_store import Damaged, RecordedStore
from necroscope.server.questions.selection import Filters, Range
from necroscope.signals.thresholds import load_thresholds
from necroscope.store.store import Damage

LONGEST_SECONDS = 600  # every second of every suspect is compared
MOST_SUSPECTS = 50


@dataclass(frozen=True, slots=True)
class Suspect:
    """A process, a kernel function, or both, and how its share compares with quiet seconds."""

    kind: str
    process: str
    function: str
    way: str
    share: float
    quiet_share: float
    lift: float | None
    probability: float  # of such a difference by chance
    is_significant: bool
    text: str


@dataclass(frozen=True, slots=True)
class Culprits:
    """The suspects, the most telling first."""

    culprit: Suspect | None
    suspects: list[Suspect]
    window_seconds: float
    quiet_seconds: float
    compared: int
    note: str
    damaged: list[Damaged]


def ask_culprit(store: RecordedStore, span: Range, filters: Filters) -> Culprits:
    """What `necroscope culprit` says. Of the filters the cores count: shares of some samples say nothing."""
    span.require_at_most(LONGEST_SECONDS, "who stands out")
    damaged: list[Damage] = []
    window = Selection(span.time.begin_ns, span.time.end_ns, cpus=filters.cpus, idle=True)
    ranking, _ = culprits_around(store.segments_of(span.host), [window], load_thresholds(None), damaged)
    return _answer(ranking, store.damaged_in(span, damaged))


def suspect_answer(suspect: Ranked) -> Suspect:
    """A suspect as the page wants it."""
    return Suspect(
        kind=suspect.kind,
        process=suspect.process,
        function=suspect.function,
        way=suspect.way,
        share=suspect.share,
        quiet_share=suspect.quiet_share,
        lift=suspect.lift,
        probability=suspect.probability,
        is_significant=suspect.is_significant,
        text=suspect_name(suspect),
    )


def _answer(ranking: Ranking, damaged: list[Damaged]) -> Culprits:
    return Culprits(
        culprit=suspect_answer(ranking.culprit) if ranking.culprit else None,
        suspects=[suspect_answer(suspect) for suspect in ranking.suspects[:MOST_SUSPECTS]],
        window_seconds=ranking.window_seconds,
        quiet_seconds=ranking.quiet_seconds,
        compared=ranking.compared,
        note=ranking.note,
        damaged=damaged,
    )
