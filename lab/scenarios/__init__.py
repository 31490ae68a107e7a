"""The scenarios, one folder each: README.md, scenario.toml, make.py, expect.toml."""
