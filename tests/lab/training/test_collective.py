"""Two ranks get the same sums, and a rank that waits too long or in vain says so."""

import socket
import threading
from array import array
from collections.abc import Callable, Iterator

import pytest

from lab.training.collective import CollectiveTimeoutError, Ring

Pair = tuple[Ring, Ring]


@pytest.fixture
def connected() -> Iterator[Callable[[float], Pair]]:
    sockets: list[socket.socket] = []

    def connect(timeout_seconds: float) -> Pair:
        with socket.create_server(("127.0.0.1", 0)) as server:
            first = socket.create_connection(server.getsockname())
            second, _ = server.accept()
        sockets.extend((first, second))
        return Ring(0, first, timeout_seconds), Ring(1, second, timeout_seconds)

    yield connect
    for one in sockets:
        one.close()


@pytest.mark.parametrize(("count", "bucket_size"), [(8, 4), (9, 4), (1, 4), (1200, 5)])
def test_both_ranks_get_the_same_sums(
    connected: Callable[[float], Pair], count: int, bucket_size: int
) -> None:
    rings = connected(10.0)
    mine = array("d", (0.1 * one for one in range(count)))
    others = array("d", (0.7 - one for one in range(count)))
    sums: dict[int, array[float]] = {}

    def reduce_other() -> None:
        sums[1] = rings[1].all_reduce(others, bucket_size)

    thread = threading.Thread(target=reduce_other)
    thread.start()
    sums[0] = rings[0].all_reduce(mine, bucket_size)
    thread.join()
    assert sums[0].tobytes() == sums[1].tobytes()
    assert list(sums[0]) == [one + other for one, other in zip(mine, others, strict=True)]


def test_a_silent_rank_is_named(connected: Callable[[float], Pair]) -> None:
    first, _ = connected(0.1)
    with pytest.raises(
        CollectiveTimeoutError, match=r"rank 0 has 0 of 6 gradients and waits for 127\.0\.0\.1"
    ):
        first.all_reduce(array("d", range(6)), 4)


def test_a_rank_that_is_gone_is_named(connected: Callable[[float], Pair]) -> None:
    first, second = connected(10.0)
    second._peer.close()
    with pytest.raises(ConnectionError):
        first.all_reduce(array("d", range(6)), 4)
