"""Python's own collector is put off, and never for good."""

from __future__ import annotations

import gc

import pytest

from necroscope.store.gc_paused import no_garbage


def test_it_is_put_off_and_on_again_also_after_a_failure() -> None:
    assert gc.isenabled()
    with no_garbage():
        assert not gc.isenabled()
        with no_garbage():
            assert not gc.isenabled()
        assert not gc.isenabled(), "the outer one is not over"
    assert gc.isenabled()
    with pytest.raises(ValueError, match="odd"), no_garbage():
        raise ValueError("odd")
    assert gc.isenabled()
