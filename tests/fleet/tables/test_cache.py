from __future__ import annotations

import hashlib
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from necroscope.errors import StoreError, UsageError
from necroscope.fleet.tables.cache import Cache, Wanted, default_cache
from tests.fleet.tables.places import Elsewhere


def stored(place: Elsewhere, content: bytes) -> Wanted:
    sha256 = hashlib.sha256(content).hexdigest()
    place.write(f"tables/{sha256[:8]}", content)
    return Wanted(f"tables/{sha256[:8]}", len(content), sha256)


def used(path: Path, seconds_ago: float) -> None:
    os.utime(path, (time.time() - seconds_ago,) * 2)


def test_what_is_here_is_not_fetched_again(tmp_path: Path) -> None:
    place, cache = Elsewhere(tmp_path / "place"), Cache(tmp_path / "cache")
    wanted = [stored(place, bytes([number]) * 10) for number in range(40)]
    paths = cache.bring(place, wanted)
    assert [path.read_bytes() for path in paths] == [bytes([number]) * 10 for number in range(40)]
    assert cache.bring(place, wanted[::-1]) == paths[::-1]
    assert len(place.fetched) == 40


def test_what_was_not_used_for_the_longest_time_goes_first(tmp_path: Path) -> None:
    place, cache = Elsewhere(tmp_path / "place"), Cache(tmp_path / "cache", limit_bytes=250)
    first, second, third = (stored(place, bytes([number]) * 100) for number in range(3))
    old, older = cache.bring(place, [first, second])
    used(old, 4000)
    used(older, 5000)
    (new,) = cache.bring(place, [third])
    assert (old.exists(), older.exists(), new.exists()) == (True, False, True)


def test_what_is_in_use_stays_although_it_is_too_much(tmp_path: Path) -> None:
    place, cache = Elsewhere(tmp_path / "place"), Cache(tmp_path / "cache", limit_bytes=50)
    wanted = [stored(place, bytes([number]) * 100) for number in range(3)]
    assert all(path.exists() for path in cache.bring(place, wanted))


def test_a_file_of_another_size_is_fetched_again(tmp_path: Path) -> None:
    place, cache = Elsewhere(tmp_path / "place"), Cache(tmp_path / "cache")
    wanted = stored(place, b"whole")
    (path,) = cache.bring(place, [wanted])
    path.write_bytes(b"who")
    assert cache.bring(place, [wanted])[0].read_bytes() == b"whole"


def test_damage_on_the_way_is_told_and_not_kept(tmp_path: Path) -> None:
    place, cache = Elsewhere(tmp_path / "place"), Cache(tmp_path / "cache")
    wanted = stored(place, b"whole")
    place.write(wanted.name, b"wrong")
    with pytest.raises(StoreError, match="damaged"):
        cache.bring(place, [wanted])
    place.remove(wanted.name)
    with pytest.raises(StoreError, match="is not there") as told:
        cache.bring(place, [wanted])
    assert "ask again" in told.value.hint
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_several_may_fetch_the_same_at_once(tmp_path: Path) -> None:
    place, cache = Elsewhere(tmp_path / "place"), Cache(tmp_path / "cache", limit_bytes=10)
    wanted = [stored(place, bytes([number]) * 1000) for number in range(20)]
    with ThreadPoolExecutor(8) as threads:
        for paths in threads.map(lambda _: cache.bring(place, wanted), range(8)):
            assert all(path.stat().st_size == 1000 for path in paths)
    assert not list((tmp_path / "cache").rglob(".making-*"))


def test_the_variables_are_understood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NECROSCOPE_FLEET_CACHE", str(tmp_path))
    monkeypatch.setenv("NECROSCOPE_FLEET_CACHE_SIZE", "1GiB")
    assert default_cache() == Cache(tmp_path, 1 << 30)
    monkeypatch.setenv("NECROSCOPE_FLEET_CACHE_SIZE", "much")
    with pytest.raises(UsageError, match="NECROSCOPE_FLEET_CACHE_SIZE"):
        default_cache()


def test_a_cache_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    place = Elsewhere(tmp_path / "place")
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file") as told:
        Cache(tmp_path / "file").bring(place, [stored(place, b"x")])
    assert "NECROSCOPE_FLEET_CACHE" in told.value.hint
