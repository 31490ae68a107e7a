"""A real S3 as a place."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

pytest.importorskip("pyarrow", reason="needs pyarrow: make fleet")

from necroscope.errors import PlaceError
from necroscope.fleet.place.place import Place, open_place
from necroscope.fleet.place.s3 import CHUNK_BYTES, S3Place
from tests.fleet.counting_proxy import counting_proxy
from tests.fleet.seaweed import ADMIN, Seaweed, host_identity, needs_seaweed, seaweed

pytestmark = [pytest.mark.servers, needs_seaweed]


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seaweed]:
    with seaweed(tmp_path_factory.mktemp("s3"), (ADMIN, host_identity("node1"))) as server:
        server.make_bucket()
        yield server


@pytest.fixture(autouse=True)
def _credentials(s3: Seaweed) -> Iterator[None]:
    with patch.dict(os.environ, s3.environment()):
        yield


@pytest.fixture
def place(s3: Seaweed, request: pytest.FixtureRequest) -> Place:
    """A prefix for every test."""
    return open_place(s3.address(prefix=request.node.name))


def test_objects_come_back(tmp_path: Path, place: Place) -> None:
    place.write("a/b/c", b"one")
    place.write("a/b/c", b"two")
    (tmp_path / "file").write_bytes(b"three")
    place.write_file("a/d", tmp_path / "file")
    assert (place.read("a/b/c"), place.read("a/d"), place.read("a/x"), place.read("a/b")) == (
        b"two", b"three", None, None,
    )  # fmt: skip
    assert (place.size("a/b/c"), place.size("a/x"), place.size("a/b")) == (3, None, None)
    assert [(one.name, one.bytes) for one in place.below("a/")] == [("a/b/c", 3), ("a/d", 5)]
    assert all(one.modified_us for one in place.below(""))
    assert (place.folders("a/"), place.folders("none/"), list(place.below("none/"))) == (["b"], [], [])
    assert place.fetch("a/d", tmp_path / "new/copy", 5)
    assert (tmp_path / "new/copy").read_bytes() == b"three"
    assert not place.fetch("a/x", tmp_path / "new/other", 5)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["copy"]
    place.remove("a/d")
    place.remove("a/d")
    assert [one.name for one in place.below("")] == ["a/b/c"], "a folder that is empty is no object"


def test_large_files_and_those_that_cannot_be_read(tmp_path: Path, place: Place) -> None:
    content = os.urandom(3 * CHUNK_BYTES + 17)
    (tmp_path / "large").write_bytes(content)
    place.write_file("large", tmp_path / "large")
    assert place.size("large") == len(content)
    assert place.fetch("large", tmp_path / "back", len(content))
    assert (tmp_path / "back").read_bytes() == content

    class Failing(io.BytesIO):
        reads = 0

        def read(self, size: int | None = -1, /) -> bytes:
            self.reads += 1
            if self.reads > 2:
                raise OSError(errno.EIO, "Input/output error")
            return super().read(size)

    with patch("os.fdopen", lambda *_, **__: Failing(content)), pytest.raises(PlaceError):
        place.write_file("half", tmp_path / "large")
    assert place.size("half") is None, "what is not whole is not there"


@pytest.mark.parametrize("name", ["../x", "a//b", "", "/x"])
def test_no_name_leads_out_of_it(place: Place, name: str) -> None:
    with pytest.raises(PlaceError):
        place.write(name, b"x")


def test_a_missing_bucket_is_not_an_empty_one(s3: Seaweed, tmp_path: Path) -> None:
    place = open_place(s3.address("nobody-made-it"))
    for attempt in (
        lambda: place.read("index.json"),
        lambda: place.size("index.json"),
        lambda: place.fetch("index.json", tmp_path / "x", 1),
        lambda: list(place.below("hosts/")),
        lambda: place.folders("hosts/"),
        lambda: place.write("x", b""),
    ):
        with pytest.raises(PlaceError, match="there is no bucket"):
            attempt()


def test_one_who_may_not_ask_for_the_bucket_sees_nothing_and_no_error(
    s3: Seaweed, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in s3.environment("node1").items():  # it is read again at every request
        monkeypatch.setenv(name, value)
    place = open_place(s3.address())
    assert list(place.below("hosts/node1/requests/")) == []
    place.write("hosts/node1/inbox/x", b"mine")
    for attempt in (
        lambda: place.write("hosts/node2/inbox/x", b""),
        lambda: place.write("index.json", b""),
        lambda: place.read("index.json"),
        lambda: list(place.below("hosts/node2/inbox/")),
    ):
        with pytest.raises(PlaceError, match="denied access"):
            attempt()


def test_how_many_requests_it_takes(s3: Seaweed) -> None:
    with counting_proxy(s3.ports["s3"]) as proxy:
        place = open_place(f"s3://fleet/counted?endpoint=http://127.0.0.1:{proxy.port}")
        assert isinstance(place, S3Place)
        place.write("x", b"x")
        assert [method for method, _ in proxy.requests] == ["PUT"]
        proxy.clear()
        assert (place.size("x"), place.modified_us("x") is None) == (1, False)
        assert [method for method, _ in proxy.requests] == ["HEAD", "HEAD"]
