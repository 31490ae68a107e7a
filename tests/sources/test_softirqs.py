from __future__ import annotations

import pytest

from necroscope.sources.softirqs import SOFTIRQS, CoreSoftirqs, parse_softirqs
from tests.sources.conftest import Tree

TEXT = """\
                    CPU0       CPU1
          HI:          0          0
       TIMER:      49704      40661
      NET_TX:         61         57
      NET_RX:      12542      17107
       BLOCK:          0     152513
    IRQ_POLL:          0          0
     TASKLET:         28          1
       SCHED:     139938     135551
     HRTIMER:          0          0
         RCU:     170506     140238
"""


def test_columns_are_cores() -> None:
    assert parse_softirqs(TEXT) == (
        CoreSoftirqs(0, net_rx=12542, net_tx=61, timer=49704),
        CoreSoftirqs(1, net_rx=17107, net_tx=57, timer=40661),
    )


def test_the_head_line_gives_the_numbers() -> None:
    assert [row.core for row in parse_softirqs(TEXT.replace("CPU1", "CPU95"))] == [0, 95]


@pytest.mark.parametrize(
    "text",
    [
        "\n",
        "\n" + TEXT.partition("\n")[2],
        TEXT[: TEXT.index("      NET_RX")],  # cut between lines
        TEXT.replace("      17107", ""),  # a column too few
        TEXT.replace("CPU0", "core"),
    ],
)
def test_what_no_kernel_writes_is_not_a_count_of_nothing(text: str) -> None:
    with pytest.raises((ValueError, KeyError, IndexError)):
        parse_softirqs(text)


def test_source(tree: Tree) -> None:
    assert SOFTIRQS.open(tree({"/proc/softirqs": TEXT}))().value == parse_softirqs(TEXT)
