from __future__ import annotations

from pathlib import Path

import pytest

from necroscope.sources.cores import CORES
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS
from necroscope.store.followed_journals import MOST_JOURNALS, FollowedJournals
from necroscope.store.journal import JOURNAL, event_frame, moment_frame, read_journal
from necroscope.store.seal import seal_recorded
from tests.diagnosis.scenes import zombies
from tests.segments import BEGIN_NS
from tests.stored import SECOND_NS, event_of, moment_of, no_profile, open_segment, seconds_of

MOMENTS = seconds_of(["system"] * 6)


def append(folder: Path, data: bytes) -> None:
    with (folder / JOURNAL).open("ab") as file:
        file.write(data)


def test_a_journal_that_grows_is_read_on(tmp_path: Path) -> None:
    folder = open_segment(tmp_path, MOMENTS[:2]).folder
    journals = FollowedJournals((CORES,))
    assert len(journals.read_on(folder).moments) == 2
    append(folder, moment_frame(MOMENTS[2]) + event_frame(event_of("nic-reset", 2)))
    read = journals.read_on(folder)
    whole = read_journal((folder / JOURNAL).read_bytes())
    assert [(m.time_ns, m.readings) for m in read.moments] == [(m.time_ns, m.readings) for m in whole.moments]
    assert (read.events, read.anchors) == (whole.events, whole.anchors)


def test_what_was_read_is_not_read_again(tmp_path: Path) -> None:
    folder = open_segment(tmp_path, MOMENTS[:3]).folder
    journals = FollowedJournals((CORES,))
    journals.read_on(folder)
    journal = folder / JOURNAL
    with journal.open("r+b") as file:  # whoever reads it from the beginning finds nothing there
        file.write(bytes(journal.stat().st_size))
    append(folder, moment_frame(MOMENTS[3]))
    assert [m.time_ns for m in journals.read_on(folder).moments] == [m.time_ns for m in MOMENTS[:4]]


def test_half_a_frame_waits_for_its_other_half(tmp_path: Path) -> None:
    folder = open_segment(tmp_path, MOMENTS[:2]).folder
    journals = FollowedJournals((CORES,))
    whole = moment_frame(MOMENTS[2])
    for cut in (3, len(whole) // 2):
        append(folder, whole[:cut] if cut == 3 else whole[3:cut])
        assert journals.last_moment_ns(folder) == MOMENTS[1].time_ns
    append(folder, whole[len(whole) // 2 :])
    assert journals.last_moment_ns(folder) == MOMENTS[2].time_ns


def test_damage_in_the_middle_costs_the_damaged_frame_only(tmp_path: Path) -> None:
    folder = open_segment(tmp_path, MOMENTS[:2]).folder
    journals = FollowedJournals((CORES,))
    journals.read_on(folder)
    append(folder, moment_frame(MOMENTS[2])[:-5] + b"xxxxx" + moment_frame(MOMENTS[3]))
    times = [m.time_ns for m in journals.read_on(folder).moments]
    assert times == [MOMENTS[0].time_ns, MOMENTS[1].time_ns, MOMENTS[3].time_ns]


def test_only_the_wanted_sources_are_kept(tmp_path: Path) -> None:
    (count,) = zombies(5)
    folder = open_segment(tmp_path, [moment_of(0, {MEMORY_CGROUPS: count, **{}}), MOMENTS[1]]).folder
    read = FollowedJournals((MEMORY_CGROUPS,)).read_on(folder)
    assert [list(m.readings) for m in read.moments] == [[MEMORY_CGROUPS.id], []]


def test_a_journal_that_was_sealed_is_gone_and_the_next_one_goes_on(tmp_path: Path) -> None:
    first = open_segment(tmp_path, MOMENTS[:3], ended="full")
    journals = FollowedJournals((CORES,))
    journals.read_on(first.folder)
    second = open_segment(tmp_path, MOMENTS[2:4])
    seal_recorded(first, no_profile)
    with pytest.raises(FileNotFoundError):
        journals.read_on(first.folder)
    append(second.folder, moment_frame(MOMENTS[4]))
    assert journals.last_moment_ns(second.folder) == BEGIN_NS + 4 * SECOND_NS


def test_a_journal_that_was_replaced_is_read_from_its_beginning(tmp_path: Path) -> None:
    folder = open_segment(tmp_path, MOMENTS[:4]).folder
    journals = FollowedJournals((CORES,))
    journals.read_on(folder)
    other = folder / "other"
    other.write_bytes(moment_frame(MOMENTS[5]))
    other.rename(folder / JOURNAL)
    assert [m.time_ns for m in journals.read_on(folder).moments] == [MOMENTS[5].time_ns]


def test_what_comes_back_does_not_grow(tmp_path: Path) -> None:
    folder = open_segment(tmp_path, MOMENTS[:2]).folder
    journals = FollowedJournals((CORES,))
    before = journals.read_on(folder)
    append(folder, moment_frame(MOMENTS[2]))
    journals.read_on(folder)
    assert len(before.moments) == 2


def test_few_journals_are_followed_at_once(tmp_path: Path) -> None:
    journals = FollowedJournals((CORES,))
    folders = [open_segment(tmp_path, MOMENTS[:2], host=f"n{n}").folder for n in range(MOST_JOURNALS + 3)]
    for folder in folders:
        journals.read_on(folder)
    assert list(journals._followed) == folders[3:]
