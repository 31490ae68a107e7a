"""How long `necroscope --help` takes, beside a bare Python, and what its imports cost.

Target: 0.15 s.
"""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

from benchmarks.timing import best_of, report

PROGRAM = str(Path(sys.executable).with_name("necroscope"))
HELP_LIMIT_SECONDS = 0.15


def imported(module: str) -> int:
    """How many modules an import brings in."""
    code = f"import sys; before = len(sys.modules); import {module}; print(len(sys.modules) - before)"
    return int(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    )


def main() -> None:
    """Measure and print."""
    bare = best_of(lambda: subprocess.run([sys.executable, "-c", ""], check=True))
    for words in (["--help"], ["list", "sources"], ["explain", "nic-reset"]):
        seconds = best_of(partial(subprocess.run, [PROGRAM, *words], check=True, capture_output=True))
        report(f"necroscope {' '.join(words)}", seconds, "limit", HELP_LIMIT_SECONDS)
        report(f"necroscope {' '.join(words)}", seconds, "bare Python", bare)
    for module in ("necroscope.cli.main", "necroscope.cli.doctor"):
        print(f"import {module}: {imported(module)} modules")


if __name__ == "__main__":
    main()
