"""A real Prometheus and a real Alertmanager, and somebody whom it tells.

Needs    prometheus and prometheus-alertmanager
Costs    2 s until both are ready (measured on two cores)
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import threading
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml

from lab.recorders import wait_until

PROGRAMS = ("prometheus", "prometheus-alertmanager")
READY_SECONDS = 60.0


def why_no_servers() -> str | None:
    """Why they cannot be started here, or None."""
    missing = [name for name in PROGRAMS if not shutil.which(name)]
    return f"needs {missing[0]}" if missing else None


@dataclass(slots=True)
class AlertServers:
    """Both at work, and what Alertmanager has told a receiver."""

    prometheus: str  # addresses
    alertmanager: str
    told: list[dict[str, Any]] = field(default_factory=list)  # one for each alert of each notification

    def query(self, expression: str) -> list[dict[str, Any]]:
        """What an expression gives now."""
        words = urllib.parse.urlencode({"query": expression})
        found: list[dict[str, Any]] = get(f"{self.prometheus}/api/v1/query?{words}")["data"]["result"]
        return found

    def firing(self, name: str) -> list[dict[str, Any]]:
        """The active alerts of a name, as Alertmanager's API has them."""
        alerts: list[dict[str, Any]] = get(f"{self.alertmanager}/api/v2/alerts?active=true")
        return [alert for alert in alerts if alert["labels"]["alertname"] == name]

    def rules_in_trouble(self) -> dict[str, str]:
        """The rules that Prometheus could not evaluate, and why; also those that it has not tried yet."""
        groups = get(f"{self.prometheus}/api/v1/rules")["data"]["groups"]
        rules = [rule for group in groups for rule in group["rules"] if rule["health"] != "ok"]
        return {rule["name"]: rule.get("lastError", rule["health"]) for rule in rules}

    def told_of(self, name: str) -> list[str]:
        """`firing` and `resolved`, in the order in which a receiver was told of an alert."""
        return [alert["status"] for alert in self.told if alert["labels"]["alertname"] == name]


@contextmanager
def alert_servers(
    folder: Path,
    rules: str,
    recorders: Sequence[str],
    *,
    others: Mapping[str, str] | None = None,
    every_seconds: int = 1,
) -> Iterator[AlertServers]:
    """Prometheus with rules, which reads recorders and a target of each other job; all is ended with it."""
    told: list[dict[str, Any]] = []
    folder.mkdir(parents=True, exist_ok=True)
    jobs = {"necroscope": list(recorders), **{job: [target] for job, target in (others or {}).items()}}
    with (
        _receiver(told) as receiver,
        _alertmanager(folder, receiver) as alertmanager,
        _prometheus(folder, rules, jobs, alertmanager, every_seconds) as prometheus,
    ):
        yield AlertServers(prometheus, alertmanager, told)


def get(address: str) -> Any:
    """The JSON at an address."""
    with urllib.request.urlopen(address, timeout=10) as answer:
        return json.load(answer)


@contextmanager
def _receiver(told: list[dict[str, Any]]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            told.extend(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["alerts"])
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def _alertmanager(folder: Path, receiver: str) -> Iterator[str]:
    route = {"receiver": "all", "group_by": ["..."], "group_wait": "1s", "group_interval": "1s"}
    webhooks = [{"url": receiver, "send_resolved": True}]
    config = {"route": route, "receivers": [{"name": "all", "webhook_configs": webhooks}]}
    (folder / "alertmanager.yml").write_text(yaml.safe_dump(config))
    words = [f"--config.file={folder / 'alertmanager.yml'}", f"--storage.path={folder / 'alertmanager'}"]
    with _server("prometheus-alertmanager", folder, [*words, "--cluster.listen-address="]) as address:
        yield address


@contextmanager
def _prometheus(
    folder: Path, rules: str, jobs: Mapping[str, list[str]], alertmanager: str, every_seconds: int
) -> Iterator[str]:
    (folder / "rules.yaml").write_text(rules)
    every = f"{every_seconds}s"
    config = {
        "global": {"scrape_interval": every, "scrape_timeout": every, "evaluation_interval": every},
        "rule_files": [str(folder / "rules.yaml")],
        "alerting": {
            "alertmanagers": [{"static_configs": [{"targets": [alertmanager.removeprefix("http://")]}]}]
        },
        "scrape_configs": [
            {"job_name": job, "static_configs": [{"targets": targets}]} for job, targets in jobs.items()
        ],
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    words = [f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'prometheus'}"]
    with _server("prometheus", folder, words) as address:
        yield address


@contextmanager
def _server(program: str, folder: Path, words: list[str]) -> Iterator[str]:
    """A server on a free port of this machine alone, once it is ready."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    notes = folder / f"{program}.log"
    with notes.open("wb") as log:
        command = [program, *words, f"--web.listen-address=127.0.0.1:{port}"]
        process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"

    def is_ready() -> bool:
        assert process.poll() is None, notes.read_text()
        try:
            with urllib.request.urlopen(f"{address}/-/ready", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    try:
        wait_until(is_ready, READY_SECONDS, notes.read_text)
        yield address
    finally:
        process.terminate()
        process.wait(30)
