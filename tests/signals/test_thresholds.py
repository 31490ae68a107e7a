from __future__ import annotations

from pathlib import Path

import pytest

from necroscope.errors import ConfigError
from necroscope.findings.catalog import DETECTORS
from necroscope.signals.thresholds import default_thresholds, load_thresholds


def test_every_threshold_has_a_reason_and_a_detector() -> None:
    for name, threshold in default_thresholds().items():
        assert len(threshold.why) > 20, name
        others = {"culprit", "diagnosis", "events", "fleet", "wall"}
        assert name.split(".")[0] in others | {detector.id for detector in DETECTORS}


def test_one_file_changes_them(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text("[thresholds.core-saturated]\nseconds = 5\n")
    changed = load_thresholds(config)
    assert changed["core-saturated.seconds"] == 5
    assert changed["core-saturated.kernel_ratio"] == default_thresholds()["core-saturated.kernel_ratio"].value


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"[thresholds.core-saturated]\nsecnds = 5\n", "there is no threshold 'core-saturated.secnds'"),
        (b"[thresholds]\ncore-saturated = 5\n", "there is no threshold 'core-saturated'"),
        (b"thresholds = 5\n", "thresholds is not a table"),
        (b"[thresholds.core-saturated]\nseconds = 'five'\n", "is not a number"),
        (b"[thresholds.core-saturated]\nseconds = -1\n", "is not a number"),
        (b"[thresholds.core-saturated]\nseconds = true\n", "is not a number"),
        (b"[thresholds.core-saturated]\nseconds = nan\n", "is not a number"),
        (b"[treshold.core-saturated]\nseconds = 1\n", "unknown table 'treshold'"),
        (b"[thresholds\n", "config.toml"),
        (b"\xff\xfe\x00", "config.toml"),
    ],
)
def test_a_mistake_is_an_error_not_a_default(tmp_path: Path, text: bytes, says: str) -> None:
    config = tmp_path / "config.toml"
    config.write_bytes(text)
    with pytest.raises(ConfigError, match=says):
        load_thresholds(config)


def test_a_named_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        load_thresholds(tmp_path / "none.toml")
