"""How a service failed, in two words."""

from __future__ import annotations


def failure_words(result: str, exit_status: int) -> str:
    """exit 1, signal 9, timeout; `result` is what systemd calls it."""
    if result == "exit-code":
        # The status is that of the main command: one before it may have kept it from being run, or one
        # after it have failed.
        return f"exit {exit_status}" if exit_status else "another command than its main one"
    return f"signal {exit_status}" if result == "signal" else result
