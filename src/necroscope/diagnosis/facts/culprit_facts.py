"""What is known of who ran on the core behind a symptom, and in which kernel functions."""

from __future__ import annotations

from dataclasses import dataclass

from necroscope.diagnosis.facts.fact import Fact
from necroscope.diagnosis.facts.starvation import Starvation
from necroscope.diagnosis.scene import Scene
from necroscope.diagnosis.symptom import Symptom
from necroscope.diagnosis.zombies.walks import walk_of
from necroscope.errors import NoSamplesError, StoreError
from necroscope.model.culprit import Ranking, Suspect
from necroscope.model.finding import Evidence

SAMPLES = "perf samples"


@dataclass(frozen=True, slots=True)
class Accused:
    """The culprit, the ranking it comes from, and the facts."""

    culprit: Suspect | None
    walk: Suspect | None  # the same process in a function that walks memory cgroups
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
        return Accused(None, None, {"culprit-in-kernel": unknown, "culprit-walks-cgroups": unknown})
    culprit = ranking.culprit
    walk = _walking(ranking, culprit)
    return Accused(
        culprit,
        walk,
        {
            "culprit-in-kernel": _in_kernel(ranking, culprit),
            "culprit-walks-cgroups": _walks(culprit, walk),
        },
    )


def _in_kernel(ranking: Ranking, culprit: Suspect | None) -> Fact:
    if culprit is None and ranking.note:
        return Fact(None, unknown=f"who stands out ({ranking.note})")
    if culprit is None or not culprit.function:
        return Fact(False, _seen(ranking, culprit) if culprit else ())
    return Fact(True, _seen(ranking, culprit))


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


def _walking(ranking: Ranking, culprit: Suspect | None) -> Suspect | None:
    """The largest share of the culprit's process in a function that walks memory cgroups."""
    if culprit is None:
        return None
    walks = [
        suspect
        for suspect in ranking.suspects
        if suspect.function
        and suspect.process == culprit.process
        and suspect.is_significant
        and walk_of(suspect.function)
    ]
    return max(walks, key=lambda suspect: suspect.share, default=None)


def _walks(culprit: Suspect | None, walk: Suspect | None) -> Fact:
    if culprit is None or walk is None:
        return Fact(False)
    known = walk_of(walk.function)
    means = f" ({known.what})" if known else ""
    share = Evidence(f"{walk.process} in {walk.function}{means}", round(walk.share, 3), "ratio", SAMPLES)
    return Fact(walk.share >= culprit.share / 2, (share,))
