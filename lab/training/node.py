"""Start one node of Ray in this process and stay: `ray start --block`, with the worker waiting for the head.

    python -m lab.training.node NAME FOLDER ADDRESS HEAD_ADDRESS [OPTION...]

The node of the name `head` is the head; options are those of `ray start`, and win over those here.
It is the first process of a pid namespace: when it ends, so does all that the node has started.
"""

from __future__ import annotations

import socket
import sys
import time

from ray.scripts.scripts import start

from lab.training.cluster import GCS_PORT

OBJECT_STORE_BYTES = 80_000_000  # the least that Ray takes is 75 MiB
ON_ALL = (
    "--block",
    "--include-log-monitor=false",
    "--num-cpus=1",
    f"--object-store-memory={OBJECT_STORE_BYTES}",
)
ON_HEAD = ("--head", f"--port={GCS_PORT}", "--include-dashboard=false", "--no-monitor")


def main(name: str, folder: str, address: str, head_address: str, *options: str) -> None:
    """Does not return."""
    arguments = [
        *ON_ALL,
        f"--temp-dir={folder}",
        f'--resources={{"{name}": 1}}',
        f"--node-ip-address={address}",
    ]
    if name == "head":
        arguments += ON_HEAD
    else:
        arguments += [f"--address={head_address}:{GCS_PORT}"]
        _wait_for(head_address)
    start.main([*arguments, *options])


def _wait_for(head_address: str) -> None:
    """Ray itself would ask again only after seconds."""
    while True:
        try:
            socket.create_connection((head_address, GCS_PORT), timeout=1).close()
        except OSError:
            time.sleep(0.02)
        else:
            return


if __name__ == "__main__":
    main(*sys.argv[1:])
