from __future__ import annotations

import time
import tomllib
from importlib.resources import files
from typing import Any

import pytest

from necroscope.fleet.jobs.failure_patterns import NODE, OWN, failure_rules, find_sign
from necroscope.fleet.jobs.ray_api import shorten_output
from necroscope.model.fleet.job import FAILED, Job
from tests.fleet.jobs.answers import recorded

TABLES: dict[str, dict[str, Any]] = tomllib.loads(
    files("necroscope.fleet").joinpath("rules/job_failures.toml").read_text()
)
KEY_ERROR = """Traceback (most recent call last):
  File "train.py", line 9, in <module>
    rows["loss"]
KeyError: 'loss'
"""
RESET = """Traceback (most recent call last):
  File "net.py", line 2, in receive
    peer.recv(100)
ConnectionResetError: [Errno 104] Connection reset by peer
"""
BECAUSE = """
The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "train.py", line 12, in <module>
    raise TrainingFailed(3) from error
__main__.TrainingFailed: 3
"""


def a_job(message: str, error_type: str = "JOB_ENTRYPOINT_COMMAND_ERROR", exit_code: int | None = 1) -> Job:
    return Job("c", "j", FAILED, None, None, (), (), error_type, exit_code, message)


def said(job: Job) -> str:
    sign = find_sign(job)
    return sign.rule.says if sign else ""


@pytest.mark.parametrize("rule", failure_rules(), ids=lambda rule: rule.id)
def test_every_rule_matches_what_it_should(rule: Any) -> None:
    row = TABLES[rule.id]
    assert rule.says in (NODE, OWN)
    assert rule.means.endswith(".")
    assert rule.pattern or rule.error_types or rule.exit_codes
    if rule.pattern:
        assert row["match"] and row["no_match"]
        assert [line for line in row["match"] if not rule.pattern.search(line)] == []
        assert [line for line in row["no_match"] if rule.pattern.search(line)] == []


@pytest.mark.parametrize(
    ("job", "says"),
    [
        (a_job(KEY_ERROR), OWN),
        (a_job(RESET), NODE),
        (a_job(RESET + BECAUSE), NODE),  # what it was raised from counts
        (a_job(RESET + "retrying\n" + KEY_ERROR), OWN),  # what came before and was survived does not
        (a_job("WARNING connection reset by peer, retrying\n" * 30 + "out of ideas\n" * 10), ""),
        (a_job('{"succeeded": false, "error": "all-reduce timed out after 3 s: rank 0 has 16"}'), NODE),
        (a_job("", exit_code=137), ""),  # killed by somebody
        (a_job("", exit_code=127), OWN),
        (a_job("", exit_code=139), OWN),
        (a_job("", "JOB_SUPERVISOR_ACTOR_DIED", None), NODE),
        (a_job("", "RUNTIME_ENV_SETUP_FAILURE", None), OWN),
        (a_job("Connection reset by peer", "RUNTIME_ENV_SETUP_FAILURE", None), NODE),
        (a_job("task: NODE_DIED\nbye"), NODE),
        (a_job("task: NODE_DIED\n" + KEY_ERROR), OWN),
        (a_job("task: TASK_EXECUTION_EXCEPTION\nbye"), OWN),
        (a_job("bye"), ""),
    ],
)
def test_the_last_lines_decide(job: Job, says: str) -> None:
    assert said(job) == says


@pytest.mark.parametrize(
    ("name", "says", "rule", "line"),
    [
        ("own", OWN, "own-exception", "KeyError: 'loss'"),
        ("lost", NODE, "ray-process-died", "Raylet is terminated"),
        ("losttask", NODE, "ray-process-died", "Raylet is terminated"),
    ],
)
def test_what_real_jobs_said(name: str, says: str, rule: str, line: str) -> None:
    log = recorded(f"logs-{name}.json")["logs"]
    sign = find_sign(a_job(shorten_output(log)))
    assert sign is not None
    assert (sign.rule.says, sign.rule.id) == (says, rule)
    assert line in sign.line


def test_what_ray_itself_keeps_of_a_lost_job_says_nothing() -> None:
    message = next(row["message"] for row in recorded("jobs.json") if row["submission_id"] == "lost")
    assert "Connection" not in shorten_output(message)
    assert find_sign(a_job(shorten_output(message))) is None


@pytest.mark.parametrize(
    "text",
    [
        '  File "a.py", line 1\n' + "    x\n" * 900,
        "a." * 2000,
        " " * 4000,
        "|" * 4000,
        "node " * 800,
        "gloo " * 800,
    ],
)
def test_no_text_keeps_a_rule_busy(text: str) -> None:
    began = time.process_time()
    find_sign(a_job(text))
    assert time.process_time() - began < 0.5


def test_shortened_output_is_short_and_has_no_colours_and_no_secrets() -> None:
    words = shorten_output(
        "\x1b[31mred\x1b[0m\n" + "x" * 5000 + "\nAWS_SECRET_ACCESS_KEY=abcd1234efgh5678\n", ["task: A"]
    )
    assert words.startswith("task: A\n")
    assert "\x1b" not in words and "abcd1234efgh5678" not in words
    assert len(words) < 4_100
    assert shorten_output("") == ""
    assert shorten_output("\ud800 half a character").encode()
