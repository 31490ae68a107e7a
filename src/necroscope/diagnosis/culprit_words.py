"""A suspect and a ranking in words."""

from __future__ import annotations

from necroscope.model.culprit import Ranking, Suspect


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
