from __future__ import annotations

import pytest

from necroscope.sources.systemd.unit_activity import UnitActivity


def unit(active: str, sub: str, job: str = "") -> UnitActivity:
    return UnitActivity("x.service", "loaded", active, sub, job, "/x")


@pytest.mark.parametrize(
    ("active", "sub", "job"),
    [
        ("active", "running", ""),
        ("active", "exited", ""),
        ("reloading", "reload", ""),
        # A crash loop goes through all of these; the last two since systemd 254.
        ("activating", "auto-restart", ""),
        ("activating", "auto-restart", "restart"),
        ("inactive", "dead", "start"),
        ("deactivating", "stop-post", ""),
        ("failed", "failed-before-auto-restart", ""),
        ("inactive", "dead-before-auto-restart", ""),
    ],
)
def test_what_runs_or_will_by_itself_is_on(active: str, sub: str, job: str) -> None:
    assert unit(active, sub, job).is_on


@pytest.mark.parametrize(
    ("active", "sub", "job"),
    [("inactive", "dead", ""), ("failed", "failed", ""), ("deactivating", "stop-sigterm", "stop")],
)
def test_what_has_ended_or_is_being_stopped_is_off(active: str, sub: str, job: str) -> None:
    assert not unit(active, sub, job).is_on


def test_a_stop_that_goes_on_is_not_settled() -> None:
    assert not unit("deactivating", "stop-sigterm", "stop").is_settled
    assert not unit("active", "running", "stop").is_settled
    assert unit("inactive", "dead").is_settled
