"""A frame is there whole or not at all, whatever happened to the file."""

from __future__ import annotations

import random
import struct
import time

from necroscope.store.frames import HEAD, MAGIC, MAX_PAYLOAD_BYTES, frame, payloads

PAYLOADS = [b"first", b"", b"NFRM in the middle of it", bytes(range(256)), b"last"]
FRAMES = [frame(payload) for payload in PAYLOADS]
WHOLE = b"".join(FRAMES)
ENDS = [sum(map(len, FRAMES[: n + 1])) for n in range(len(FRAMES))]


def test_payloads_come_back_in_order() -> None:
    assert list(payloads(WHOLE)) == PAYLOADS
    assert list(payloads(b"")) == []


def test_a_cut_anywhere_keeps_all_whole_frames_and_no_other() -> None:
    for cut in range(len(WHOLE) + 1):
        whole = sum(end <= cut for end in ENDS)
        assert list(payloads(WHOLE[:cut])) == PAYLOADS[:whole], cut


def test_a_damaged_byte_costs_only_the_frame_it_is_in() -> None:
    for place in range(len(WHOLE)):
        hit = sum(end <= place for end in ENDS)
        for flip in (0x01, 0x80, 0xFF):
            damaged = bytearray(WHOLE)
            damaged[place] ^= flip
            assert list(payloads(bytes(damaged))) == PAYLOADS[:hit] + PAYLOADS[hit + 1 :], (place, flip)


def test_garbage_between_frames_is_passed_over() -> None:
    noise = [b"\0" * 50, MAGIC, MAGIC[:3], MAGIC + b"\xff" * 8, b"NFRNFRM"]
    for garbage in noise:
        data = garbage + garbage.join(FRAMES) + garbage
        assert list(payloads(data)) == PAYLOADS, garbage


def test_a_frame_within_a_payload_is_not_a_frame_of_its_own() -> None:
    assert list(payloads(frame(frame(b"inner")))) == [frame(b"inner")]


def test_a_length_beyond_all_measure_is_damage() -> None:
    head = HEAD.pack(MAGIC, MAX_PAYLOAD_BYTES + 1, 0)
    assert list(payloads(head + frame(b"next"))) == [b"next"]


def test_many_false_heads_take_no_time() -> None:
    begin = time.perf_counter()
    assert list(payloads(MAGIC * 300_000 + frame(b"next"))) == [b"next"]
    assert time.perf_counter() - begin < 20  # a tenth of a second here, hours in a wrong way


def test_random_damage_never_invents_a_payload() -> None:
    chance = random.Random(20260415)
    for _ in range(500):
        written = [chance.randbytes(chance.randrange(40)) for _ in range(chance.randrange(1, 8))]
        data = bytearray(b"".join(map(frame, written)))
        for _ in range(chance.randrange(4)):
            place = chance.randrange(len(data))
            match chance.randrange(3):
                case 0:
                    data[place] = chance.randrange(256)
                case 1:
                    del data[place : place + chance.randrange(20)]
                case _:
                    data[place:place] = chance.choice((MAGIC, chance.randbytes(9)))
            data = data or bytearray(b"\0")
        read = list(payloads(bytes(data)))
        left = iter(written)
        assert all(payload in left for payload in read), "in order, and each one was written"


def test_a_frame_is_as_the_format_says() -> None:
    assert frame(b"first") == b"NFRM" + struct.pack("<II", 5, 0x9271EE57) + b"first"
