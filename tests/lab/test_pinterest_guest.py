"""A guest's NIC: its other end, what its numbers say, and the numbers themselves."""

import os
import socket
import struct
from pathlib import Path
from typing import Any

import pytest

from lab.machines.kernels import Kernel, KernelError, kernel_from, kernel_of
from lab.machines.qemu import why_not
from lab.scenarios.pinterest.guest import LOADS, TOO_BUSY, measure
from lab.scenarios.pinterest.guest_peer import echo_peer, turned
from lab.scenarios.pinterest.guest_verdict import Seen, conclude, is_late, is_starved

OLD_KERNEL = os.environ.get("NECROSCOPE_OLD_KERNEL", "")  # 5.7 or older: statistics that walk
NEEDS_GUESTS = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))


def ones_complement_sum(words: bytes) -> int:
    total: int = sum(struct.unpack(f">{len(words) // 2}H", words))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def frame(payload: bytes = b"ping", protocol: int = 17) -> bytes:
    """A datagram as a NIC sends it, with its checksums."""
    addresses = socket.inet_aton("198.51.100.2") + socket.inet_aton("198.51.100.1")
    length = 8 + len(payload)
    udp = struct.pack(">HHHH", 40_000, 7, length, 0) + payload
    pseudo = addresses + struct.pack(">BBH", 0, protocol, length)
    udp = udp[:6] + struct.pack(">H", 0xFFFF - ones_complement_sum(pseudo + udp)) + udp[8:]
    header = struct.pack(">BBHHHBBH", 0x45, 0, 20 + length, 1, 0, 64, protocol, 0) + addresses
    header = header[:10] + struct.pack(">H", 0xFFFF - ones_complement_sum(header)) + header[12:]
    return b"\2\0\0\0\0\1" + b"\2\0\0\0\0\2" + b"\x08\0" + header + udp


def seen(
    load: str, longest: float, waited: float, call: float = 500.0, *, zombies: int = 0, gap: float = 600.0
) -> Seen:
    return Seen(load, zombies, 4.0, 1000, 0, longest / 2, longest / 2, longest, waited, 1, 0, gap, 9, call)


def test_a_datagram_goes_back_where_it_came_from() -> None:
    back = turned(frame())
    assert back is not None
    assert (back[:6], back[6:12]) == (frame()[6:12], frame()[:6])
    assert socket.inet_ntoa(back[26:30]) == "198.51.100.1"
    assert struct.unpack(">HH", back[34:38]) == (7, 40_000)
    assert turned(back) == frame()


def test_both_checksums_still_hold() -> None:
    back = turned(frame())
    assert back is not None
    udp = back[34:]
    pseudo = back[26:34] + struct.pack(">BBH", 0, 17, len(udp))
    assert ones_complement_sum(back[14:34]) == ones_complement_sum(pseudo + udp) == 0xFFFF


@pytest.mark.parametrize("other", [frame(protocol=6), frame()[:30], b"\xff" * 12 + b"\x08\x06" + bytes(28)])
def test_what_is_no_datagram_is_not_answered(other: bytes) -> None:
    assert turned(other) is None


def test_the_peer_answers_and_leaves_nothing(tmp_path: Path) -> None:
    with echo_peer(tmp_path) as network, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as nic:
        assert f"remote.path={tmp_path}/peer" in network
        nic.bind(f"{tmp_path}/nic")
        nic.settimeout(5)
        nic.sendto(b"\xff" * 60, f"{tmp_path}/peer")
        nic.sendto(frame(), f"{tmp_path}/peer")
        assert nic.recv(100) == turned(frame())
    assert list(tmp_path.iterdir()) == []


def test_late_by_a_waiting_thread_is_starved() -> None:
    idle = seen("idle", 15, 0.5)
    assert is_starved(seen("reader", 930, 2539), idle)


def test_a_thread_that_waited_while_nothing_was_late_starved_nobody() -> None:
    """As on 6.12: the thread waits for half the time, and interrupts do its work."""
    idle = seen("idle", 27, 19)
    assert not is_starved(seen("long", 14, 2381), idle)


def test_late_without_a_waiting_thread_is_something_else() -> None:
    idle = seen("idle", 46, 113)
    held = seen("long", 471, 5)
    assert is_late(held, idle)
    assert not is_starved(held, idle)


def test_a_core_that_is_merely_shared_is_not_starved() -> None:
    """As a loop in user space does on a busy host: the thread gets its turn every 60 ms."""
    assert not is_starved(seen("user", 1070, 763, gap=60), seen("idle", 32, 14))


def test_a_noisy_machine_makes_nobody_a_culprit() -> None:
    assert not is_late(seen("user", 390, 900), seen("idle", 80, 1))
    assert not is_late(seen("user", 141, 562), seen("idle", 15, 1))


def test_the_conclusion_tells_a_walk_from_a_flat_read() -> None:
    idle, before, after = (seen("idle", 15, 1), seen("reader", 8, 83, 0.74), seen("reader", 12, 50, 0.75))
    walked = conclude([idle, before, seen("reader", 930, 2539, 718, zombies=2000), after])
    flat = conclude([idle, before, seen("reader", 19, 36, 0.76, zombies=2000), after])
    assert (walked["is_walked"], walked["is_starved"], walked["is_starved_after_purge"]) == (
        True,
        True,
        False,
    )
    assert (flat["is_walked"], flat["is_starved"]) == (False, False)
    assert "starves the NIC: a read takes 718.00 ms with 2,000 zombies" in walked["conclusion"]
    assert "does not walk the zombies" in flat["conclusion"]


def test_a_kernel_without_such_statistics_is_said_to_be_one() -> None:
    results = conclude([seen("idle", 15, 1), seen("long", 14, 2381)])
    assert "is_walked" not in results
    assert "no memory controller of cgroup v1" in results["conclusion"]
    assert results["is_starved_by"] == {"long": False}


def test_a_late_idle_core_is_no_measure() -> None:
    """As on a busy host: it was late before there was any load, and nothing can be said of the load."""
    assert not conclude([seen("idle", 381, 377, gap=17), seen("long", 484, 1831, gap=491)])["is_quiet"]
    assert conclude([seen("idle", 42, 1, gap=11), seen("long", 725, 2278, gap=606)])["is_quiet"]


def measured(kernel: Kernel, *loads: str) -> dict[str, Any]:
    results = measure(kernel, loads=loads)
    if not results["is_quiet"]:
        pytest.skip(TOO_BUSY)
    return results


def debian(series: str) -> Kernel:
    try:
        return kernel_of(series)
    except KernelError as error:
        pytest.skip(str(error))


@NEEDS_GUESTS
@pytest.mark.long
def test_long_kernel_work_starves_5_10_and_its_statistics_do_not() -> None:
    results = measured(debian("5.10"), "idle", "reader", "yielding", "long")
    assert (results["is_walked"], results["is_starved"]) == (False, False)
    assert results["is_starved_by"] == {"yielding": False, "long": True}


@NEEDS_GUESTS
@pytest.mark.long
def test_long_kernel_work_does_not_starve_6_12() -> None:
    results = measured(debian("6.12"), "idle", "long")
    assert results["is_late_by"] == {"long": False}
    held = results["seen"][1]
    assert held["longest_gap_milliseconds"] > 200
    assert held["thread_waited_milliseconds"] > 400


@NEEDS_GUESTS
@pytest.mark.long
@pytest.mark.skipif(not OLD_KERNEL, reason="NECROSCOPE_OLD_KERNEL names no kernel of 5.7 or older")
def test_statistics_starve_an_old_kernel_and_the_program_names_the_reader() -> None:
    results = measured(kernel_from(Path(OLD_KERNEL)), *LOADS)
    assert (results["is_walked"], results["is_starved"], results["is_starved_after_purge"]) == (
        True,
        True,
        False,
    )
    assert results["is_starved_by"] == {"user": False, "yielding": False, "long": True}
    program = results["program"]
    assert {"softirq-starved", "core-saturated"} <= {one["id"] for one in program["findings"]}
    assert results["program_names_reader"]
    assert program["reader_functions"]["memcg_numa_stat_show"] > 0.3
