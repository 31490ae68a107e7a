"""python -m lab: see `lab.running.command_line`."""

from __future__ import annotations

import sys

from lab.running.command_line import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
