from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

import pytest


@pytest.fixture(autouse=True)
def _images_are_held_elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What tests leave of fixes of images is not left in the /run of this machine."""
    folder = tmp_path_factory.getbasetemp() / "run"
    folder.mkdir(exist_ok=True)
    # Not by `monkeypatch`: it would be made before the fixtures of the test, and end after them.
    with patch("necroscope.remedies.transaction.machine_lock.RUN", folder):
        yield
