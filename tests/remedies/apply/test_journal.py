from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from necroscope.errors import StoreError
from necroscope.remedies.apply.fixes_folder import RecordFolder
from necroscope.remedies.apply.journal import (
    JOURNAL,
    Entry,
    Happening,
    entry_line,
    opened_journal,
    read_entries,
)

ENTRIES = [
    Entry(Happening.BEGUN, 1, "root, pid 1", before=({"text": "a\nb\r\u2028"}, {}), plan_sha256="00"),
    Entry(Happening.STEP_BEGUN, 2, "root, pid 1", 1),
    Entry(Happening.STEP_DONE, 3, "root, pid 1", 1, "done: ☃"),
    Entry(Happening.APPLIED, 4, "root, pid 1"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[RecordFolder]:
    (tmp_path / JOURNAL).write_bytes(b"".join(map(entry_line, ENTRIES)))
    descriptor = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield RecordFolder(tmp_path, descriptor)
    os.close(descriptor)


def test_what_is_added_is_read(folder: RecordFolder) -> None:
    (folder.path / JOURNAL).write_bytes(b"")
    with opened_journal(folder) as journal:
        for entry in ENTRIES:
            journal.add(entry)
            assert read_entries(folder)[-1] == entry
    assert read_entries(folder) == ENTRIES


def test_cut_at_any_byte_only_the_last_line_is_lost(folder: RecordFolder) -> None:
    path = folder.path / JOURNAL
    data = path.read_bytes()
    for length in range(len(data)):
        path.write_bytes(data[:length])
        whole = data[:length].count(b"\n")
        assert read_entries(folder) == ENTRIES[:whole]
        with opened_journal(folder) as journal:
            journal.add(ENTRIES[-1])
        assert read_entries(folder) == [*ENTRIES[:whole], ENTRIES[-1]]


def test_any_damaged_byte_is_an_error(folder: RecordFolder) -> None:
    path = folder.path / JOURNAL
    data = path.read_bytes()
    for place in range(len(data) - 1):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0x01]) + data[place + 1 :])
        with pytest.raises(StoreError, match=rf"{JOURNAL}: line \d is damaged"):
            read_entries(folder)


@pytest.mark.parametrize(
    "other",
    [
        {"at_ns": "1"},
        {"at_ns": -1},
        {"at_ns": 2**80},
        {"at_ns": True},
        {"step": 0},
        {"step": -1},
        {"kind": "step-imagined"},
        {"kind": "applied"},
        {"kind": "step-looked"},
        {"before": [{"mode": 4755}]},
        {"before": [[]]},
        {"before": 1},
        {"who": None},
        {"more": 1},
    ],
)
def test_a_line_of_another_form_is_damaged(folder: RecordFolder, other: dict[str, object]) -> None:
    """Its checksum is right: whoever forges a line can compute one."""
    document = json.loads(entry_line(ENTRIES[1])[9:]) | other
    text = json.dumps(document).encode()
    with (folder.path / JOURNAL).open("ab") as file:
        file.write(b"%08x %s\n" % (zlib.crc32(text), text))
    with pytest.raises(StoreError, match=rf"{JOURNAL}: line 5 is damaged"):
        read_entries(folder)


def test_a_line_that_does_not_fit_leaves_no_half_of_it(
    folder: RecordFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.write
    with opened_journal(folder) as journal:
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:20]))
            with pytest.raises(OSError, match="No space left"):
                journal.add(ENTRIES[1])
        assert read_entries(folder) == ENTRIES
        journal.add(ENTRIES[1])
    assert read_entries(folder) == [*ENTRIES, ENTRIES[1]]
