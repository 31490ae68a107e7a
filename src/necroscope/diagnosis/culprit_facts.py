"""What is known of who ran on the core behind a symptom, and in which kernel functions."""

from __future__ import annotations

from dataclasses import dataclass

from necroscope.diagnosis.fact import Fact
from necroscope.diagnosis.scene import Scene
from necroscope.diagnosis.starvation import Starvation
from necroscope.diagnosis.symptom import Symptom
from necroscope.diagnosis.zombies.walks import is_work, visits_zombies, walk_of
from necroscope.errors import NoSamplesError, StoreError
from necroscope.model.culprit import Ranking, Suspect
from necroscope.model.finding import Evidence

SAMPLES = "perf samples"
OF_SAMPLES = ("culprit-in-kernel", "culprit-fills-core", "culprit-walks-cgroups", "culprit-reclaims")
RECLAIM_WALKS = ("reclaim", "slab")


@dataclass(frozen=True, slots=True)
class Accused:
    """The culprit, the ranking it comes from, and the facts."""

    culprit: Suspect | None
    walk: Suspect | None  # the same process in a function that visits every zombie, if that takes its time
    facts: dict[str, Fact]


def accuse(scene: Scene, symptom: Symptom, found: Starvation) -> Accused:
    """Rank who ran on the core in the seconds before."""
    cores = (found.core.core,) if found.core else ()
    try:
        ranking = scene.rank(symptom.begin_ns, symptom.end_ns, cores) if scene.rank else None
        why = scene.why_no_samples
    except (NoSamplesError, StoreError) as error:
        ranking, why = None, error.what
    if ranking is None:
        unknown = Fact(None, unknown=f"which kernel function it is (samples: {why})")
        return Accused(None, None, dict.fromkeys(OF_SAMPLES, unknown))
    culprit = ranking.culprit
    walk = _walking(scene, ranking, culprit)
    return Accused(
        culprit,
        walk,
        {
            "culprit-in-kernel": _in_kernel(ranking, culprit),
            "culprit-fills-core": _fills(culprit),
            "culprit-walks-cgroups": _walks(walk),
            "culprit-reclaims": _reclaims(culprit, ranking),
        },
    )


def _in_kernel(ranking: Ranking, culprit: Suspect | None) -> Fact:
    if culprit is None and ranking.note:
        return Fact(None, unknown=f"who stands out ({ranking.note})")
    if culprit is None or not culprit.function:
        return Fact(False, _seen(ranking, culprit) if culprit else ())
    return Fact(True, _seen(ranking, culprit))


def _fills(culprit: Suspect | None) -> Fact:
    """Whether the culprit alone had most of the core."""
    return Fact(culprit is not None and bool(culprit.function) and culprit.share >= 0.5)


def _seen(ranking: Ranking, culprit: Suspect) -> tuple[Evidence, ...]:
    process = culprit.process or "many processes"
    what = f"{process} in {culprit.function}" if culprit.function else process
    return (
        Evidence(f"share of {what}", round(culprit.share, 3), "ratio", SAMPLES),
        Evidence("share in quiet seconds", round(culprit.quiet_share, 4), "ratio", SAMPLES),
        Evidence(
            "seconds above every quiet second",
            f"{culprit.seconds_above} of {ranking.window_seconds}, {ranking.quiet_seconds} quiet ones",
            "",
            SAMPLES,
        ),
        Evidence("probability of that by chance", float(f"{culprit.probability:.2g}"), "", SAMPLES),
    )


def _walking(scene: Scene, ranking: Ranking, culprit: Suspect | None) -> Suspect | None:
    """The culprit's process in a function whose time grows with zombies, if that is what it spends time on.

    Work on pages that such a function calls is not the walk.
    """
    if culprit is None or is_work(culprit.function):
        return None
    kernel = scene.segment.labels.kernel
    own = [s for s in ranking.suspects if s.function and s.process == culprit.process and s.is_significant]
    walks = [s for s in own if (walk := walk_of(s.function)) and visits_zombies(walk, kernel)]
    widest = max(walks, key=lambda suspect: suspect.share, default=None)
    work = max((s.share for s in own if is_work(s.function)), default=0.0)
    if widest is None or widest.share - work < culprit.share / 2:
        return None
    return widest


def _walks(walk: Suspect | None) -> Fact:
    if walk is None:
        return Fact(False)
    known = walk_of(walk.function)
    means = f" ({known.what})" if known else ""
    share = Evidence(f"{walk.process} in {walk.function}{means}", round(walk.share, 3), "ratio", SAMPLES)
    return Fact(True, (share,))


def _reclaims(culprit: Suspect | None, ranking: Ranking) -> Fact:
    """Whether the culprit searches for memory: in reclaim itself, or in what it calls."""
    if culprit is None:
        return Fact(False)
    own = [s for s in ranking.suspects if s.process == culprit.process and s.is_significant]
    found = [s for s in own if (walk := walk_of(s.function)) and walk.id in RECLAIM_WALKS]
    most = max(found, key=lambda suspect: suspect.share, default=None)
    if most is None or most.share < culprit.share / 2:
        return Fact(False)
    name = f"{most.process} in {most.function}"
    return Fact(True, (Evidence(name, round(most.share, 3), "ratio", SAMPLES),))
