"""What the fleet's row shows of nodes with known histories, as promtool computes it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.exporter.dashboard_queries import all_queries, as_grafana_asks

HOURS = 30
TABLE, SUMS = "Nodes, the worst first", "Nodes"
QUERIES = {query.where: as_grafana_asks(query.ask, instance="") for query in all_queries()}

pytestmark = pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not installed")


def series(metric: str, node: str, values: str, **labels: str) -> dict[str, str]:
    all_labels = {"job": "necroscope", "instance": node, **labels}
    return {
        "series": metric + "{" + ",".join(f'{name}="{value}"' for name, value in all_labels.items()) + "}",
        "values": values,
    }


def resets(node: str, values: str, reason: str = "starvation") -> dict[str, str]:
    return series("necroscope_nic_resets_total", node, values, device="eth0", driver="ena", reason=reason)


def started(node: str, values: str) -> dict[str, str]:
    return series("necroscope_recorder_start_time_seconds", node, values)


def expected(where: str, values: Mapping[str, float]) -> dict[str, Any]:
    """What a query gives at the end, by node; by "" where it is one number."""
    samples = [
        {"labels": f'{{instance="{node}"}}' if node else "{}", "value": value}
        for node, value in values.items()
    ]
    return {"expr": QUERIES[where], "eval_time": f"{HOURS}h", "exp_samples": samples}


def check(folder: Path, inputs: list[dict[str, str]], tests: list[dict[str, Any]]) -> None:
    """Have promtool compute; a value every hour."""
    test = {"interval": "1h", "input_series": inputs, "promql_expr_test": tests}
    file = folder / "test.yaml"
    file.write_text(yaml.safe_dump({"rule_files": [], "evaluation_interval": "1h", "tests": [test]}))
    ran = subprocess.run(["promtool", "test", "rules", file], check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_resets_of_a_day_or_since_the_recorder_began(tmp_path: Path) -> None:
    inputs = [
        # Three in all, two of them in the last day.
        *(resets("long", "0x3 1x10 3x20"), started("long", "0x40")),
        # Began again two hours ago, and counts from 0: two since, as many as it had a day ago.
        *(resets("again", "2x27 0 2 2"), started("again", "0x27 100800x5")),
        *(resets("new", "_x28 0 1 1"), started("new", "_x28 100800x5")),
        *(resets("quiet", "4x40"), started("quiet", "0x40")),
        *(resets("planned", "0x28 5 5", "planned"), started("planned", "0x40")),
    ]
    by_node = {"long": 2, "again": 2, "new": 1, "quiet": 0}
    tests = [
        expected(f"{TABLE}: NIC resets, 24 h", by_node),
        expected(f"{SUMS}: With a NIC reset in 24 h", {"": 3}),
    ]
    check(tmp_path, inputs, tests)


def test_the_wall_is_near_only_with_a_leak(tmp_path: Path) -> None:
    zombies = {"leaks": 2000, "slowly": 2000, "beyond": 30_000, "still": 5000}
    growths = {"leaks": 0.5, "slowly": 0.02, "beyond": 1.0, "still": 0.001}
    inputs = [
        series("necroscope_memory_cgroups", node, f"{count}x40", hierarchy="memory (v1)", state="zombie")
        for node, count in zombies.items()
    ]
    # On a hybrid host; the one with more is meant.
    inputs.append(
        series("necroscope_memory_cgroups", "leaks", "3x40", hierarchy="unified (v2)", state="zombie")
    )
    growth = "necroscope_memory_cgroup_zombie_growth_per_second"
    inputs += [series(growth, node, f"{value}x40") for node, value in growths.items()]
    tests = [
        expected(f"{TABLE}: Time to the wall", {"leaks": 36_000, "slowly": 900_000, "beyond": 0}),
        expected(f"{SUMS}: At the wall within a day", {"": 2}),
        expected(f"{TABLE}: Zombies", zombies),
    ]
    check(tmp_path, inputs, tests)


def test_without_metrics_nothing_is_said_to_be_well(tmp_path: Path) -> None:
    check(tmp_path, [], [expected(where, {}) for where in QUERIES if where.startswith(f"{SUMS}: ")])


def test_a_recorder_that_is_down_is_counted_and_listed(tmp_path: Path) -> None:
    inputs = [
        *(series("up", node, "1x40") for node in ("here", "file-gone", "never")),  # of node_exporter, for two
        series("up", "gone", "1x20 0x20"),
        series("necroscope_build_info", "here", "1x40", version="1"),
        series("necroscope_build_info", "gone", "1x20 stale", version="1"),
        series("necroscope_build_info", "file-gone", "1x27 stale", version="1"),
        series("necroscope_build_info", "scaled-away", "1x27 stale", version="1"),
        series("up", "scaled-away", "1x27 stale"),
    ]
    tests = [
        expected(f"{SUMS}: Recorder down", {"": 2}),
        expected(f"{TABLE}: Recorder", {"here": 1, "gone": 0, "file-gone": 0}),
    ]
    check(tmp_path, inputs, tests)
