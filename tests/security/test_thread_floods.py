"""An attack by threads: whoever reads all of a process with 32,000 takes a second for it, every second."""

from __future__ import annotations

import subprocess
import sys
import time

from necroscope._native import TaskScanner
from necroscope.sources.processes import BUSIEST_KEPT

# Idle threads, and one that burns a little.
THREADS = """
import threading, time
threading.stack_size(32768)
for _ in range(4500):
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
print("ready", flush=True)
while True:
    end = time.process_time() + 0.02
    while time.process_time() < end:
        pass
    time.sleep(0.05)
"""


def test_a_process_with_too_many_threads_is_read_as_a_whole() -> None:
    command = [sys.executable, "-S", "-c", THREADS]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout and process.stdout.readline() == b"ready\n"
            scanner = TaskScanner("/proc")
            scanner.scan(BUSIEST_KEPT)
            time.sleep(0.5)
            _, tasks, _ = scanner.scan(BUSIEST_KEPT)
        finally:
            process.kill()
    ours = [(tid, core) for pid, tid, _, core, *_ in tasks if pid == process.pid]
    assert ours == [(process.pid, -1)]
