"""Write the tables of a generated fleet, to be asked with `necroscope fleet QUESTION --fleet OUT`.

python -m lab.fleets OUT --plant labels/kernel=5.10.0-9:4
python -m lab.fleets OUT --hosts 5000 --days 7 --segment 120s --seed 7 --none --leak 0.1:40
"""

from __future__ import annotations

import argparse
import time
from datetime import datetime
from pathlib import Path

from lab.fleets.plan import (
    Plan,
    full_fact,
    parse_confounder,
    parse_leak,
    parse_plant,
    parse_rollout,
)
from lab.fleets.tables import write_fleet
from necroscope.cli.arguments import argument, duration


def arguments_parser() -> argparse.ArgumentParser:
    """The words that it understands."""
    parser = argparse.ArgumentParser(
        prog="python -m lab.fleets", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("out", type=Path, metavar="OUT", help="the folder, which must not have a fleet in it")
    add("--hosts", type=int, default=5000)
    add("--days", type=float, default=7.0)
    add("--segment", type=duration, default="120s", help="length of a segment (default %(default)s)")
    add("--seed", type=int, default=1)
    add("--end", metavar="TIME", help="when it ends, as 2026-11-18T00:00Z (default: the last full hour)")
    add(
        "--plant", type=argument(parse_plant), action="append", default=[], metavar="FACT=VALUE:RATIO[:SHARE]"
    )
    add("--confounder", type=argument(parse_confounder), action="append", default=[], metavar="FACT:STRENGTH")
    add("--same-split", type=full_fact, action="append", default=[], metavar="FACT")
    add("--frailty", type=float, default=0.05, help="shape of the gamma distribution of hosts; 0: all alike")
    add("--rate", type=float, default=0.1, help="episodes of a host in a week (default %(default)s)")
    add("--leak", type=argument(parse_leak), metavar="SHARE:PER_HOUR")
    add("--rollout", type=argument(parse_rollout), metavar="FACT=VALUE@TIME:SHARE:RATIO[:OVER]")
    add("--none", action="store_true", help="plant nothing")
    return parser


def plan_of(words: argparse.Namespace) -> Plan:
    """The plan that the words mean."""
    end = int(datetime.fromisoformat(words.end).timestamp()) if words.end else int(time.time()) // 3600 * 3600
    return Plan(
        hosts=words.hosts,
        days=words.days,
        segment_seconds=max(int(words.segment), 1),
        seed=words.seed,
        end_us=end * 10**6,
        plants=tuple(words.plant),
        confounders=tuple(words.confounder),
        same_splits=tuple(words.same_split),
        frailty=words.frailty,
        episodes_a_week=words.rate,
        leak=words.leak,
        rollout=words.rollout,
    )


def main() -> None:
    """Understand, write, and say how large it is."""
    parser = arguments_parser()
    words = parser.parse_args()
    if (words.confounder or words.same_split) and not words.plant:
        parser.error("--confounder and --same-split go along with a --plant")
    if words.none and words.plant:
        parser.error("--none and --plant exclude each other")
    index = write_fleet(words.out, plan_of(words))
    rows, size = sum(file.rows for file in index.files), sum(file.bytes for file in index.files)
    print(f"{words.out}: {rows:,} rows in {len(index.files)} files, {size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
