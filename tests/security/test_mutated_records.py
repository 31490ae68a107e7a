"""The attack: a record of a fix with words replaced at random, and checksums that fit.

Whatever it says, an undo changes nothing but systemd's configuration, leaves no file that others may write
to or that is setuid, has systemd run nothing new, and ends well or with an error of ours.
"""

from __future__ import annotations

import json
import zlib
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from necroscope.errors import NecroscopeError, StoreError
from necroscope.model.plan import Treatment
from necroscope.remedies.apply import executor as carrying_out
from necroscope.remedies.apply.apply import apply
from necroscope.remedies.apply.fixes_folder import fixes_folder
from necroscope.remedies.apply.site import Site
from necroscope.remedies.apply.undo import undo
from necroscope.remedies.plan.make_plan import make_plan
from necroscope.sources.host import Host
from tests.remedies.trees import listing
from tests.security.forged_records import (
    CONDITION,
    ETC,
    EVIL,
    LIMIT,
    NOTHING,
    OFF,
    UNIT,
    WANTED,
    WAYS,
    forge,
    in_time,
    make_image,
    step,
)
from tests.unprivileged import NOBODY

ACTIONS = ["write-file", "make-link", "remove-links", "stop-unit"]
PATHS = ["/etc/passwd", OFF, LIMIT, f"{ETC}/{UNIT}", WANTED, "/dev/null", "/tmp/evil.service"]
WORDS = ["", "yes", "no", "4755", "0777", f"{NOBODY}:{NOBODY}", EVIL, CONDITION, UNIT, "x" * 5000, "\ud800"]
STRANGE = [*ACTIONS, *PATHS, *WORDS, f"{WANTED} -> /tmp/evil.service", "purge-zombies"]


@given(data=st.data())
@settings(max_examples=40)
def test_whatever_a_record_says_nothing_else_is_changed(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A true record with a few words replaced, and checksums that fit."""
    root = tmp_path_factory.mktemp("mutated")
    site = Site(Host(make_image(root / "image")), root / "store")
    (site.host.root / LIMIT.lstrip("/")).write_text("[Unit]\nStartLimitIntervalSec=1\n")
    treatments = [Treatment(remedy, UNIT) for remedy in ("limit-crash-loop", "disable-unit")]
    fix = apply(make_plan(site.host, treatments, (), ()), site)
    folder = fixes_folder(site.store) / fix.id
    document = json.loads((folder / "plan.json").read_bytes())
    lines = [json.loads(line[9:]) for line in (folder / "journal").read_bytes().splitlines()]
    for _ in range(data.draw(st.integers(1, 3))):
        mutate(data, [document["steps"], lines[0]["before"], document["treatments"]])
    text = json.dumps(document).encode()
    lines[0]["plan_sha256"] = sha256(text).hexdigest()
    (folder / "plan.json").write_bytes(text)
    how = data.draw(st.sampled_from([*WAYS]))
    # As if it had ended in the middle: then nobody asks whether all is as it left it.
    kept = ("begun", "step-begun") if how == "--undo" else ("begun",)
    (folder / "journal").write_bytes(b"".join(line_of(line) for line in lines if line["kind"] in kept))
    outside = {name: row for name, row in listing(site.host.root).items() if not is_systemds(name)}
    with patch.object(carrying_out, "SETTLE_SECONDS", 0.0), suppress(NecroscopeError):
        WAYS[how](fix.id, site)
    after = listing(site.host.root)
    assert {name: row for name, row in after.items() if not is_systemds(name)} == outside
    for path in (site.host.root / name for name in after):
        assert not path.lstat().st_mode & 0o7000 and (path.is_symlink() or not path.stat().st_mode & 0o022)
    texts = [path.read_text() for path in (site.host.root / "etc/systemd").rglob("*.conf")]
    assert not any("Exec" in text for text in texts)


def is_systemds(name: str) -> bool:
    return name.startswith("etc/systemd")


def line_of(document: object) -> bytes:
    text = json.dumps(document).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def mutate(data: st.DataObject, document: Any) -> None:
    """Replace a word or a name somewhere in a document."""
    places: list[tuple[Any, Any]] = []
    pending = [document]
    while pending:
        one = pending.pop()
        rows = [*one.items()] if isinstance(one, dict) else [*enumerate(one)] if isinstance(one, list) else []
        places += [(one, key) for key, value in rows if isinstance(value, str)]
        pending += [value for _, value in rows]
    if not places:
        return
    holder, key = places[data.draw(st.integers(0, len(places) - 1))]
    word = data.draw(st.sampled_from(STRANGE))
    if isinstance(holder, dict) and data.draw(st.booleans()):
        holder[word] = holder.pop(key)
    else:
        holder[key] = word


@pytest.mark.parametrize("text", [b"[" * 200_000, b'{"kind": ' * 50_000, b"\xff\xfe", b"null", b"[]", b"1"])
def test_a_journal_of_another_form_is_damaged(tmp_path: Path, text: bytes) -> None:
    site = Site(Host(make_image(tmp_path / "image")), tmp_path / "store")
    id = forge(site, [step("write-file", OFF, CONDITION)], [NOTHING])
    path = fixes_folder(site.store) / id / "journal"
    path.write_bytes(b"%08x %s\n" % (zlib.crc32(text), text))
    with in_time(), pytest.raises(StoreError, match="line 1 is damaged"):
        undo(id, site)
