"""The configuration file: every setting it may have, and what is said of every other."""

from __future__ import annotations

from pathlib import Path

import pytest

from necroscope.errors import ConfigError
from necroscope.store import config
from necroscope.store.config import (
    KubernetesSettings,
    RecordSettings,
    load_kubernetes_settings,
    load_record_settings,
    read_config,
)
from necroscope.store.retention import Budget


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "config.toml"
    path.write_text(text)
    return path


def test_without_a_file_the_defaults_are_in_force(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "DEFAULT_CONFIG", tmp_path / "none.toml")
    assert load_record_settings(None, {}) == RecordSettings()
    assert read_config(None) == (tmp_path / "none.toml", {})


def test_the_usual_place_is_read_without_being_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "DEFAULT_CONFIG", write(tmp_path, "[record]\nrate = 11"))
    assert load_record_settings(None, {}).rate == 11


def test_every_setting_is_understood(tmp_path: Path) -> None:
    text = """
    [record]
    segment = "30s"
    rate = 199
    budget = "4GiB"
    kept_budget = "512MiB"
    age = "3d"
    listen = "127.0.0.1:9464"
    textfile = "/var/lib/prometheus/node-exporter/necroscope.prom"
    per_core_metrics = true
    [thresholds.core-saturated]
    seconds = 5
    """
    assert load_record_settings(write(tmp_path, text), {}) == RecordSettings(
        segment_seconds=30.0,
        rate=199,
        budget=Budget(4 << 30, 512 << 20, 3 * 86400.0),
        listen="127.0.0.1:9464",
        textfile="/var/lib/prometheus/node-exporter/necroscope.prom",
        per_core_metrics=True,
    )


def test_every_setting_about_the_cluster_is_understood(tmp_path: Path) -> None:
    text = """
    [kubernetes]
    report = true
    address = "https://10.0.0.1:6443"
    token_file = "/t"
    ca_file = "/c"
    node = "node-a"
    every = "1m"
    """
    wanted = KubernetesSettings(True, "https://10.0.0.1:6443", "/t", "/c", "node-a", 60.0)
    path = write(tmp_path, text)
    assert load_kubernetes_settings(path, {"report": None}) == wanted
    assert load_kubernetes_settings(path, {"node": "node-b"}).node == "node-b"
    assert load_kubernetes_settings(write(tmp_path, ""), {"report": True}) == KubernetesSettings(report=True)
    for wrong in ("report = 1", "every = '1s'", "node = ''", "token = 'x'"):
        with pytest.raises(ConfigError):
            load_kubernetes_settings(write(tmp_path, f"[kubernetes]\n{wrong}"), {})


def test_plain_numbers_are_seconds_and_bytes(tmp_path: Path) -> None:
    settings = load_record_settings(write(tmp_path, "[record]\nsegment = 60\nbudget = 1000\nrate = 0"), {})
    assert (settings.segment_seconds, settings.rate) == (60.0, 0)
    assert settings.budget.total_bytes == 1000


def test_a_quarter_of_the_budget_is_for_what_had_events(tmp_path: Path) -> None:
    path = write(tmp_path, '[record]\nbudget = "4GiB"')
    assert load_record_settings(path, {}).budget.kept_bytes == 1 << 30
    assert load_record_settings(path, {"budget": 1 << 30}).budget.kept_bytes == 1 << 28


def test_the_command_line_has_the_last_word(tmp_path: Path) -> None:
    path = write(tmp_path, '[record]\nrate = 199\nsegment = "30s"')
    settings = load_record_settings(path, {"rate": 0, "segment": None})
    assert (settings.rate, settings.segment_seconds) == (0, 30.0)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('segment = "1s"', "record.segment: '1s' is not between 2s and 3600s"),
        ('segment = "2h"', "record.segment: '2h'"),
        ('segment = "soon"', "record.segment: 'soon' is not a duration"),
        ("segment = nan", "record.segment: 'nan'"),
        ("rate = -1", "record.rate: '-1'"),
        ("rate = 10001", "record.rate: '10001'"),
        ("rate = 97.5", "record.rate: '97.5'"),
        ("rate = true", "record.rate: 'True'"),
        ('rate = ""', "record.rate: ''"),
        ('budget = "8 elephants"', "record.budget: '8 elephants' is not a size"),
        ("budget = -5", "record.budget: '-5'"),
        ("budget = [1]", "record.budget: '[1]'"),
        ('kept_budget = "x"', "record.kept_budget: 'x'"),
        ('age = "old"', "record.age: 'old' is not a duration"),
        ("age = false", "record.age: 'False'"),
        ('textfile = "a.txt"', "record.textfile: 'a.txt' does not end in .prom"),
        ('textfile = "/folder/.prom"', "record.textfile: '/folder/.prom'"),
        ("colour = 5", "there is no setting 'record.colour'"),
    ],
)
def test_a_bad_value_is_named_with_its_file(tmp_path: Path, line: str, says: str) -> None:
    path = write(tmp_path, f"[record]\n{line}")
    with pytest.raises(ConfigError) as error:
        load_record_settings(path, {})
    assert error.value.what.startswith(f"{path}: ")
    assert says in error.value.what


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[recrod]\nrate = 5", "unknown table 'recrod'"),
        ("rate = 5", "unknown table 'rate'"),
        ("record = 5", "record is not a table"),
        ("[record", "Expected"),
        ("[record]\nrate = ", "Invalid value"),
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, text: str, says: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(ConfigError) as error:
        read_config(path)
    assert error.value.what.startswith(f"{path}: ")
    assert says in error.value.what


def test_a_file_that_is_no_text_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    with pytest.raises(ConfigError, match="No such file"):
        read_config(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match=r"config\.toml: .*decode"):
        read_config(path)
    with pytest.raises(ConfigError, match="Is a directory") as error:
        read_config(tmp_path)
    assert "/dev/null" in error.value.hint
    assert read_config(Path("/dev/null"))[1] == {}
