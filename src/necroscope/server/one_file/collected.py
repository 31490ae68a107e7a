"""The answers of a file, as long as there is room for them.

Answers are added by importance. One that does not fit is left out, and the file says so.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from pydantic import TypeAdapter

from necroscope.errors import NecroscopeError
from necroscope.server.answers.failure import Failed, Failure
from necroscope.server.hidden_paths import without_paths

# 15 MB, of which base64 takes a quarter and the page itself half a megabyte.
ROOM_BYTES = 10_500_000


@dataclass(slots=True)
class Collected:
    """Answers by their keys, as JSON; `room_bytes` is what may still be added, compressed."""

    room_bytes: int = ROOM_BYTES
    answers: dict[str, bytes] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def ask(self, key: str, question: Callable[[], Any]) -> Any:
        """Add the answer, or why there is none; the answer, or None where there is none or no room."""
        if key in self.answers:
            return None
        try:
            answer = question()
        except NecroscopeError as error:
            failure = Failure(error.slug, without_paths(error.what), without_paths(error.hint))
            self._add(key, asdict(Failed(failure)))
            return None
        return answer if self._add(key, answer) else None

    def holds(self, key: str) -> bool:
        """Whether there was room for it."""
        return key in self.answers

    def document(self) -> bytes:
        """All answers as one JSON object."""
        pairs = (json.dumps(key).encode() + b":" + content for key, content in self.answers.items())
        return b'{"answers":{' + b",".join(pairs) + b"}}"

    def _add(self, key: str, answer: Any) -> bool:
        content = TypeAdapter(type(answer)).dump_json(answer)
        size_bytes = len(zlib.compress(content, 6))
        if size_bytes > self.room_bytes:
            return False
        self.room_bytes -= size_bytes
        self.answers[key] = content
        return True
