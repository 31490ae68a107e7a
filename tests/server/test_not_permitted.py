"""A server that may not read all of its store says so, and shows the rest."""

from __future__ import annotations

import json
import os
import shutil
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from necroscope.store.store import DESCRIPTION
from tests.server.questions.sampled_store import BEGIN_US, LENGTH, sampled_store
from tests.server.served import Served, served
from tests.stored import HOST

OVERRIDES = "-dac_override,-dac_read_search"  # by which root reads what nobody may
SPAN = f"host={HOST}&begin_us={BEGIN_US}&end_us={BEGIN_US + 80 * 10**6}"
QUESTIONS = ["cores", "events", "zombies", "diagnosis", "live", "scope", "flame", "culprit", "export"]
pytestmark = pytest.mark.skipif(
    os.geteuid() == 0 and not shutil.which("setpriv"), reason="root needs setpriv to be refused anything"
)


def without_overrides() -> Sequence[str]:
    if os.geteuid() != 0:
        return ()
    return ("setpriv", "--bounding-set", OVERRIDES, "--inh-caps", OVERRIDES)


def get(server: Served, target: str) -> tuple[int, dict[str, Any]]:
    try:
        with urllib.request.urlopen(f"{server.address}api/{target}", timeout=15) as answer:
            content = answer.read()
            return answer.status, json.loads(
                content
            ) if answer.headers.get_content_subtype() == "json" else {}
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())["error"]


@pytest.mark.parametrize(
    "name", [DESCRIPTION, "", "profile", "profile/samples.parquet", "counters", "events.parquet"]
)
def test_a_part_of_a_segment(tmp_path: Path, name: str) -> None:
    sampled_store(tmp_path / "store")
    segment = max((tmp_path / "store" / HOST).iterdir())
    (segment / name).chmod(0)
    try:
        with served(tmp_path / "store", wrapper=without_overrides()) as server:
            told = {question: get(server, f"{question}?{SPAN}") for question in QUESTIONS}
            listed = get(server, "hosts")[1]["damaged"]
            assert {status for status, _ in told.values()} <= {200, 403, 404}, told
            words = str((told, listed))
            assert "not permitted" in words
            early = SPAN.replace(str(BEGIN_US + 80 * 10**6), str(BEGIN_US + (LENGTH - 5) * 10**6))
            assert get(server, f"flame?{early}")[0] == 200, "the other segment"
            assert "Traceback" not in server.said()
    finally:
        (segment / name).chmod(0o755)


def test_the_whole_store(tmp_path: Path) -> None:
    sampled_store(tmp_path / "store")
    with served(tmp_path / "store", wrapper=without_overrides()) as server:
        (tmp_path / "store").chmod(0)
        try:
            for question in ("hosts", *QUESTIONS):
                status, error = get(server, f"{question}?{SPAN}")
                assert (status, error["slug"]) == (403, "cannot-look"), (question, error)
        finally:
            (tmp_path / "store").chmod(0o755)
