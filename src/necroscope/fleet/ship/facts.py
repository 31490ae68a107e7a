"""What a host is made of, as the fleet keeps it: a digest of every section, and one of them all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from necroscope.fleet.place.canonical import canonical, digest_of
from necroscope.sources.host import Host

NOT_READ = "not_read"  # a section that says which others were not read, or not all of them
PARTLY, NOTHING = "read in part", "not read"


@dataclass(frozen=True, slots=True)
class HostFacts:
    """All facts at a time. `blobs` are the bytes of the sections by their digests."""

    time_us: int
    id: str
    sections: Mapping[str, str]
    blobs: Mapping[str, bytes]


def take_facts(host: Host, time_us: int) -> HostFacts | None:
    """The facts of a host, without secrets; None where nothing could be read."""
    from necroscope.inventory.snapshot import take_snapshot  # once an hour, and a third of all imports

    snapshot = take_snapshot(host)
    facts = {section: found for section, found in snapshot.facts.items() if found}
    if not facts:
        return None
    if snapshot.not_read:
        # Not why: what changes from hour to hour would make other facts of the same.
        facts[NOT_READ] = {section: PARTLY if section in facts else NOTHING for section in snapshot.not_read}
    return facts_of(facts, time_us)


def facts_of(facts: Mapping[str, Mapping[str, str]], time_us: int) -> HostFacts:
    """The same from facts by section."""
    contents = {
        section: canonical({"section": section, "facts": dict(found)}) for section, found in facts.items()
    }
    sections = {section: digest_of(content) for section, content in contents.items()}
    blobs = {sections[section]: content for section, content in contents.items()}
    return HostFacts(time_us, digest_of(canonical(sections)), sections, blobs)
