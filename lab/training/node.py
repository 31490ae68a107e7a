"""Start one node of Ray in this process and stay: `ray start --block`, with the worker waiting for the head.

    python -m lab.training.node head FOLDER
    python -m lab.training.node worker FOLDER

It is the first process of a pid namespace: when it ends, so does all that the node has started.
"""

from __future__ import annotations

import socket
import sys
import time

from ray.scripts.scripts import start

from lab.training.network import ADDRESSES

GCS_PORT = 6379
OBJECT_STORE_BYTES = 80_000_000  # the least that Ray takes is 75 MiB
ON_BOTH = (
    "--block",
    "--include-log-monitor=false",
    "--num-cpus=1",
    f"--object-store-memory={OBJECT_STORE_BYTES}",
)
ON_HEAD = ("--head", f"--port={GCS_PORT}", "--include-dashboard=false", "--no-monitor")


def main(side: str, folder: str) -> None:
    """Does not return."""
    arguments = [*ON_BOTH, f"--temp-dir={folder}", f'--resources={{"{side}": 1}}']
    if side == "head":
        arguments += [*ON_HEAD, f"--node-ip-address={ADDRESSES['head']}"]
    else:
        arguments += [f"--address={ADDRESSES['head']}:{GCS_PORT}", f"--node-ip-address={ADDRESSES['worker']}"]
        _wait_for_head()
    start.main(arguments)


def _wait_for_head() -> None:
    """Ray itself would ask again only after seconds."""
    while True:
        try:
            socket.create_connection((ADDRESSES["head"], GCS_PORT), timeout=1).close()
        except OSError:
            time.sleep(0.02)
        else:
            return


if __name__ == "__main__":
    main(*sys.argv[1:])
