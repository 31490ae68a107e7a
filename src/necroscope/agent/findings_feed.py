"""What is wrong with the node now, as the sealing children find it, for as long as that is now."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

from necroscope.findings.node_state_json import parse_state
from necroscope.model.node_state import LOOK_BACK_SECONDS, NodeState

Take = Callable[[NodeState | None], None]


class AgentFindings:
    """Tells every new state, and None when it is not known any more: nothing was sealed for long."""

    def __init__(self, take: Take) -> None:
        self.state: NodeState | None = None
        self.error = ""  # why the last segments were not examined; empty: they were, or none was sealed yet
        self._take = take
        # When what is known is not of now any more, or nothing was for long; by the clock that nobody sets.
        self._old_at: float | None = None

    def tick(self, answer: Mapping[str, Any] | None, segment_seconds: float) -> None:
        """What a sealing child said, if one has ended; None: there is nothing new."""
        fresh_seconds = LOOK_BACK_SECONDS + 2 * segment_seconds
        if self._old_at is None:
            self._old_at = time.monotonic() + fresh_seconds
        if answer is not None:
            self._hear(answer, fresh_seconds)
        if time.monotonic() >= self._old_at:
            self._old_at = math.inf
            self._tell(None)

    def _hear(self, answer: Mapping[str, Any], fresh_seconds: float) -> None:
        # A child that was asked too soon after another says neither.
        if error := answer.get("state_error"):
            self.error = str(error)
            self._tell(None)
        elif document := answer.get("state"):
            try:
                state = parse_state(document)
            except ValueError as error:
                self.error = str(error)
                self._tell(None)
                return
            # What a crash left unsealed may be hours old.
            age_seconds = max(time.time_ns() - state.examined_utc_ns, 0) / 1e9
            is_fresh = age_seconds < fresh_seconds
            self._old_at = time.monotonic() + fresh_seconds - age_seconds if is_fresh else math.inf
            self.error = ""
            self._tell(state if is_fresh else None)

    def _tell(self, state: NodeState | None) -> None:
        self.state = state
        self._take(state)
