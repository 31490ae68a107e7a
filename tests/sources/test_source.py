from __future__ import annotations

import pytest

from necroscope.model.reading import Absence, Reading
from necroscope.sources.cores import CORES
from necroscope.sources.source import Source

SOURCE: Source[int] = Source(
    "x", lambda _: lambda: Reading(1), to_permit="be root", to_support="a new kernel"
)


@pytest.mark.parametrize(
    ("absence", "hint"),
    [
        (Absence.NOT_PERMITTED, "be root"),
        (Absence.NOT_SUPPORTED, "a new kernel"),
        (Absence.SWITCHED_OFF, "a new kernel"),
        (Absence.BROKEN, "the reason names what was read; if that is not damaged, please report it"),
    ],
)
def test_every_absence_has_its_hint(absence: Absence, hint: str) -> None:
    assert SOURCE.hint(absence) == hint


def test_the_head_of_the_file_is_its_page() -> None:
    assert CORES.doc.startswith("CPU time of every core.\n\nReads    /proc/stat\n")
