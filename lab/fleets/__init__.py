"""Generated fleets with known causes: `python -m lab.fleets OUT --plant labels/kernel=5.10.0-9:4`."""
