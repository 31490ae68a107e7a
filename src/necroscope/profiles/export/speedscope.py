"""speedscope's own JSON (https://www.speedscope.app/file-format-schema.json), one "sampled" profile.

A difference has two profiles, the window and its baseline, as speedscope cannot show one.
"""

from __future__ import annotations

import json
from typing import Any

from necroscope.model.visible_text import visible_json
from necroscope.profiles.export.stacks import stacks
from necroscope.profiles.export.title import Title
from necroscope.profiles.flame import Flame, Side


def encode_speedscope(flame: Flame, title: Title) -> bytes:
    """The stacks with their counts as weights; the notes are in the name, as there is no other place."""
    profiles = [profile(flame, flame.window, f"{title.text} [{title.unit}]")]
    if flame.baseline is not None:
        profiles.append(profile(flame, flame.baseline, f"baseline of {title.text} [{title.unit}]"))
    file = {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": "necroscope",
        "name": "; ".join((title.text, *title.notes)),
        "activeProfileIndex": 0,
        "shared": {"frames": [frame(label.name, label.module) for label in flame.labels]},
        "profiles": profiles,
    }
    return visible_json(json.dumps(file, separators=(",", ":")).encode())


def frame(name: str, module: str) -> dict[str, str]:
    """A shared frame; the module stands where speedscope shows a file."""
    return {"name": name or "[unknown]"} | ({"file": module} if module else {})


def profile(flame: Flame, side: Side, name: str) -> dict[str, Any]:
    """One side of the graph. Weights are samples, not time: they stay exact."""
    counted = list(stacks(flame, side))
    return {
        "type": "sampled",
        "name": name,
        "unit": "none",
        "startValue": 0,
        "endValue": side.samples,
        "samples": [labels for labels, _ in counted],
        "weights": [count for _, count in counted],
    }
