"""Take over the texts that alerts have now into the tests of the rules, to be read before they are committed.

    python -m tests.exporter.accept_alert_texts

Only texts (`exp_annotations`) are taken over: which alerts are expected, when and with which labels is a
person's word. An alert that does not fire as expected is left, and promtool goes on failing.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import yaml

TESTS = Path(__file__).parents[2] / "deploy/rules/tests"
FAILED = re.compile(
    r"alertname: (\w+), time: (\w+), \n\s+exp:\[(.*?)\n\s+\], \n\s+got:\[(.*?)\n\s+\]", re.DOTALL
)
ALERT = re.compile(r"Labels:\{(.*)\}\n\s+Annotations:\{(.*)\}")
PAIR = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*")')
ORDER = ("summary", "description", "runbook_url", "needs", "cannot_see")
EXPECTED = re.compile(
    r"^    - exp_labels: \{(.*)\}\n(?:      exp_annotations:\n(?:        .*\n)*)?", re.MULTILINE
)

Texts = dict[str, str]


def main() -> None:
    """All files."""
    for path in sorted(TESTS.glob("*.yaml")):
        said = subprocess.run(
            ["promtool", "test", "rules", path.name], cwd=TESTS, capture_output=True, text=True, check=False
        ).stderr
        path.write_text(with_texts(path.read_text(), texts_by_labels(said)))


def texts_by_labels(said: str) -> dict[tuple[str, str], Texts]:
    """The texts of every alert that fired, by its name and its labels, of those that differ."""
    found: dict[tuple[str, str], Texts] = {}
    for name, _, _, got in FAILED.findall(said):
        for labels, texts in ALERT.findall(got):
            found[name, key_of(pairs_in(labels))] = pairs_in(texts)
    return found


def with_texts(file: str, texts: dict[tuple[str, str], Texts]) -> str:
    """A file of tests with the texts taken over."""
    parts = re.split(r"(?<=alertname: )(\w+)(?=\n)", file)
    for place in range(1, len(parts), 2):
        name = parts[place]

        def replaced(found: re.Match[str], name: str = name) -> str:
            labels = yaml.safe_load("{" + found[1] + "}")
            new = texts.get((name, key_of(labels)))
            if not new:
                return found[0]
            lines = "".join(f"        {one}: {json.dumps(new[one])}\n" for one in ORDER if one in new)
            return f"    - exp_labels: {{{found[1]}}}\n      exp_annotations:\n{lines}"

        parts[place + 1] = EXPECTED.sub(replaced, parts[place + 1])
    return "".join(parts)


def pairs_in(text: str) -> Texts:
    """Labels as promtool prints them."""
    return {name: json.loads(value) for name, value in PAIR.findall(text) if name != "alertname"}


def key_of(labels: Texts) -> str:
    """The same for the same labels, in whatever order."""
    return json.dumps(labels, sort_keys=True)


if __name__ == "__main__":
    main()
