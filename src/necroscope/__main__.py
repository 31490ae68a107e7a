"""`python -m necroscope`."""

from necroscope.cli.main import run

run()
