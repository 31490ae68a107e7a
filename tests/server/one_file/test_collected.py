from __future__ import annotations

import json
import random
from base64 import b64encode

from necroscope.errors import NoSamplesError
from necroscope.server.one_file.collected import Collected
from necroscope.server.questions.recorded_store import Damaged

NOISE = b64encode(random.Random(1).randbytes(3000)).decode()


def test_answers_lie_under_their_keys() -> None:
    collected = Collected()
    answer = collected.ask('["hosts"]', lambda: Damaged("what", "hint"))
    assert answer == Damaged("what", "hint")
    assert json.loads(collected.document()) == {"answers": {'["hosts"]': {"what": "what", "hint": "hint"}}}


def test_what_does_not_fit_is_not_added_and_what_is_smaller_still_is() -> None:
    collected = Collected(room_bytes=3200)
    assert collected.ask("large", lambda: Damaged(NOISE, NOISE[::-1])) is None
    assert collected.ask("one", lambda: Damaged(NOISE, "")) is not None
    assert collected.ask("small", lambda: Damaged("a", "b")) is not None
    assert [collected.holds(key) for key in ("large", "one", "small")] == [False, True, True]


def test_an_error_is_an_answer_too() -> None:
    def nothing() -> Damaged:
        raise NoSamplesError("no samples there", hint="none")

    collected = Collected()
    assert collected.ask("flame", nothing) is None and collected.holds("flame")
    error = json.loads(collected.document())["answers"]["flame"]["error"]
    assert error == {"slug": "no-samples", "what": "no samples there", "hint": "none"}
