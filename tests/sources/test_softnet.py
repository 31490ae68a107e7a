from __future__ import annotations

import pytest

from necroscope.model.reading import Absence
from necroscope.sources.softnet import ONLINE, SOFTNET, CoreSoftnet, parse_softnet
from tests.sources.conftest import Deny, Tree


def line(*first: int, columns: int, core: int | None = None) -> str:
    """A line as the kernel of that many columns writes it; the 13th column is the core."""
    fields = [*first, *[0] * (columns - len(first))]
    if core is not None:
        fields[12] = core
    return " ".join(f"{field:08x}" for field in fields) + "\n"


# Core 1 of four is offline. Linux 5.4, 5.10 and 6.5.
OF_11 = line(1068, 0, 21, columns=11) + line(2, 3, 0, columns=11) + line(0, columns=11)
OF_13 = "".join(
    line(*first, columns=13, core=core) for core, first in ((0, (1068, 0, 21)), (2, (2, 3, 0)), (3, ()))
)
OF_15 = "".join(row[:-1] + " 00000007 00000000\n" for row in OF_13.splitlines(keepends=True))
EXPECTED = (CoreSoftnet(0, 1068, 0, 21), CoreSoftnet(2, 2, 3, 0), CoreSoftnet(3, 0, 0, 0))


@pytest.mark.parametrize("text", [OF_11, OF_13, OF_15], ids=["11", "13", "15"])
def test_an_offline_core_has_no_line_and_shifts_nobody(text: str) -> None:
    assert parse_softnet((0, 2, 3), text) == EXPECTED


@pytest.mark.parametrize("text", [OF_13, OF_15], ids=["13", "15"])
def test_a_line_that_names_its_core_needs_no_list_of_cores(tree: Tree, text: str) -> None:
    assert SOFTNET.open(tree({"/proc/net/softnet_stat": text}))().value == EXPECTED


@pytest.mark.parametrize("online", ["", "0-", "rubbish\n", b"\xff\xfe\x00", None, "0,2\n"])
def test_a_line_without_its_core_is_given_to_none_by_guessing(tree: Tree, online: str | bytes | None) -> None:
    reading = SOFTNET.open(tree({"/proc/net/softnet_stat": OF_11, ONLINE: online}))()
    assert reading.absence is Absence.BROKEN
    assert "/proc/net/softnet_stat" in reading.detail
    assert ONLINE in reading.detail


def test_old_lines_with_the_list_of_cores(tree: Tree, deny: Deny) -> None:
    host = tree({"/proc/net/softnet_stat": OF_11, ONLINE: "0,2-3\n"})
    assert SOFTNET.open(host)().value == EXPECTED
    deny(ONLINE)
    assert SOFTNET.open(host)().absence is Absence.BROKEN


@pytest.mark.parametrize(
    "text", ["\n", "00000001 00000000\n", OF_13 + "\n", OF_13.replace("00000015", "squeeze")]
)
def test_lines_that_no_kernel_writes(text: str) -> None:
    with pytest.raises(ValueError, match=r"columns|invalid"):
        parse_softnet((0, 1, 2, 3), text)
