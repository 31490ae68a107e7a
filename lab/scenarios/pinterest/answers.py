"""What the program says on the node, in the order in which one would ask."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.faults.crash_loops import UNIT
from lab.running.stage import Stage

LOOK = "4s"
# The leak is half a minute old when it is mended: more time before it would hold the quiet seconds, too.
VERIFY = ("--window", "15s", "--before", "30s")
CHAIN_FACTS = ("id", "cause", "effect", "strength")
FILLED, WALKED = "kernel-work-fills-core", "zombies-slow-the-kernel"  # links whose evidence is kept


@dataclass(frozen=True, slots=True)
class Answers:
    """Asks on one node; what a person would see is kept in the run's folder."""

    stage: Stage
    prefix: tuple[str, ...]

    def diagnose(self, core: int) -> dict[str, Any]:
        """Why: the chain, the verdict and the culprit of the newest stall."""
        self._show("diagnose", "diagnose")
        body = self.stage.ask("diagnose", prefix=self.prefix)["diagnosis"]
        return {
            "conclusion": body["conclusion"],
            "verdict": body["verdict"],
            "event": body["symptom"],
            "links": [link["id"] for link in body["chain"]],
            "chain": [{name: link[name] for name in CHAIN_FACTS} for link in body["chain"]],
            "missing": body["missing"],
            "culprit": body["culprit"],
            "ruled_out": [one["id"] for one in body["ruled_out"]],
            # By the recorder, and not by what the lab made or measured.
            "kernel_seconds": _evidence(body, FILLED, f"core {core} in the kernel, seconds in a row"),
            "system_ratio": _evidence(body, FILLED, f"system share of core {core}"),
            "zombies": _evidence(body, WALKED, "zombies"),
        }

    def culprit(self, event: str, core: int) -> dict[str, Any]:
        """Who ran more than usual before the event, on the core."""
        words = ("culprit", "--around", event, "--window", "5s", "--cpu", str(core))
        self._show("culprit", *words)
        return self.stage.ask(*words, prefix=self.prefix)

    def draw(self, event: str, core: int) -> dict[str, int]:
        """The flame graph of the seconds before the event, and its difference to the quiet ones: bytes."""
        words = ("flame", "--around", event, "--window", "5s", "--cpu", str(core), "-f")
        sizes = {}
        for name, more in (("flame", ()), ("difference", ("--against", "baseline"))):
            file = self.stage.folder / f"{name}.svg"
            self.stage.show(*words, *more, "-o", str(file), prefix=self.prefix)
            sizes[name] = file.stat().st_size
        return sizes

    def plan(self) -> dict[str, Any]:
        """What to do about the leak, kept in a file for whoever is to approve it."""
        file = self.stage.folder / "plan.json"
        self._show("plan", "fix", "memory-cgroup-leak", UNIT, "-d", LOOK, "-o", str(file), "-f")
        body = json.loads(file.read_text())
        plan = body.get("plan", body)
        return {
            "remedies": [one["remedy"] for one in plan["treatments"]],
            "subjects": [one["subject"] for one in plan["treatments"]],
            "steps": [one["action"] for one in plan["steps"]],
        }

    def apply(self) -> dict[str, Any]:
        """Carry out the plan as it was approved."""
        self._show("apply", "fix", "--plan", str(self.stage.folder / "plan.json"), "--apply")
        fix: dict[str, Any] = self.stage.ask("fix", "--list", prefix=self.prefix)["fixes"][0]
        return {"id": fix["id"], "state": fix["state"]}

    def verify(self, fix: str) -> dict[str, Any]:
        """Whether it helped."""
        codes = (0, 3, 4)
        words = ("verify", fix, *VERIFY)
        body = self.stage.ask(*words, prefix=self.prefix, codes=codes)
        self._show("verify", *words, "--now", codes=codes)
        return {
            "verdict": body["verdict"],
            "summary": body["summary"],
            "quantities": {one["quantity"]: one["verdict"] for one in body["quantities"]},
        }

    def report(self) -> int:
        """The whole incident in one file, without secrets: its bytes."""
        file = self.stage.folder / "report.html"
        self.stage.show("report", "-o", str(file), "-f", prefix=self.prefix)
        return file.stat().st_size

    def _show(self, name: str, *words: str, codes: tuple[int, ...] = (0, 1)) -> None:
        said = self.folder / f"{name}.txt"
        said.parent.mkdir(exist_ok=True)
        said.write_text(self.stage.show(*words, prefix=self.prefix, codes=codes))

    @property
    def folder(self) -> Path:
        """Where the texts are."""
        return self.stage.folder / "said"


def _evidence(diagnosis: dict[str, Any], link: str, name: str) -> Any:
    """The value of one evidence of a link; None without it."""
    rows = [row for one in diagnosis["chain"] if one["id"] == link for row in one["evidence"]]
    return next((row["value"] for row in rows if row["name"] == name), None)
