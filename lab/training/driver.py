"""The driver of a training job: two Ray actors, one on each node, train one model together.

    python -m lab.training.driver STEPS TIMEOUT_SECONDS

It runs on the head node and prints one line of JSON for each step, and one in the end with the time
(CLOCK_MONOTONIC), which says of a step that failed how long it had taken. The model is a linear
regression; each actor has data of its own, and they add up their gradients after each step. It ends with
status 1 if a step fails, as when an all-reduce times out.
"""

from __future__ import annotations

import json
import logging
import random
import re
import socket
import sys
import time
from array import array
from operator import mul
from typing import Any

import ray

from lab.training.collective import Ring
from lab.training.network import ADDRESSES

WEIGHTS = 1200
BUCKET_SIZE = 4  # of a model with many small layers: 300 buckets, 600 waits for the network a step
SAMPLES = 24  # of each rank
LEARNING_RATE = 0.01
CONNECT_SECONDS = 30.0
SIDES = ("head", "worker")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Trainer:
    """One rank: its data, its copy of the weights, its connection to the other."""

    def __init__(self, rank: int, timeout_seconds: float) -> None:
        self._rank = rank
        self._timeout_seconds = timeout_seconds
        self._server: socket.socket | None = None
        self._ring: Ring | None = None
        self._weights = array("d", bytes(8 * WEIGHTS))
        chance = random.Random(rank)
        truth = random.Random("truth")
        wanted = [truth.gauss(0, 1) for _ in range(WEIGHTS)]
        scale = WEIGHTS**-0.5
        self._inputs = [[chance.gauss(0, 1) for _ in range(WEIGHTS)] for _ in range(SAMPLES)]
        self._targets = [scale * sum(map(mul, wanted, one)) + chance.gauss(0, 0.01) for one in self._inputs]

    def listen(self) -> int:
        """The port at which this rank can be reached."""
        self._server = socket.create_server((ADDRESSES["head"], 0))
        return int(self._server.getsockname()[1])

    def connect(self, port: int) -> None:
        """Meet the other rank."""
        if self._server is not None:
            self._server.settimeout(CONNECT_SECONDS)
            peer, _ = self._server.accept()
        else:
            peer = socket.create_connection((ADDRESSES["head"], port), timeout=CONNECT_SECONDS)
        self._ring = Ring(self._rank, peer, self._timeout_seconds)

    def step(self) -> float:
        """Go down the gradient of both ranks' data once; the loss on this rank's data before it."""
        assert self._ring is not None
        scale = WEIGHTS**-0.5
        gradient = array("d", bytes(8 * WEIGHTS))
        loss = 0.0
        for sample, target in zip(self._inputs, self._targets, strict=True):
            error = scale * sum(map(mul, self._weights, sample)) - target
            loss += error * error / SAMPLES
            gradient = array("d", (sofar + error * one for sofar, one in zip(gradient, sample, strict=True)))
        summed = self._ring.all_reduce(gradient, BUCKET_SIZE)
        rate = LEARNING_RATE * scale
        self._weights = array("d", (w - rate * g for w, g in zip(self._weights, summed, strict=True)))
        return loss

    def weights(self) -> bytes:
        """To compare."""
        return self._weights.tobytes()


def main(steps: int, timeout_seconds: float) -> int:
    """Train; 0 if all went well."""
    ray.init(
        address="auto", log_to_driver=False, logging_level=logging.ERROR, _node_ip_address=ADDRESSES["head"]
    )
    step, began = 0, time.monotonic()
    try:
        trainers = _meet(timeout_seconds)
        for step in range(1, steps + 1):
            began = time.monotonic()
            losses = ray.get([trainer.step.remote() for trainer in trainers])
            _print(step=step, seconds=time.monotonic() - began, loss=sum(losses) / 2)
        first, second = ray.get([trainer.weights.remote() for trainer in trainers])
        if first != second:
            raise ValueError("the ranks have come to different weights")
    except (ray.exceptions.RayError, ValueError) as error:
        at, said = time.monotonic(), COLOUR.sub("", str(error))
        failed = {"failed_step": step, "failed_after_seconds": at - began, "kind": type(error).__name__}
        _print(succeeded=False, at=at, **failed, error=said)
        return 1
    _print(succeeded=True, at=time.monotonic())
    return 0


def _meet(timeout_seconds: float) -> list[Any]:
    """The actors, one on each node, connected to each other."""
    actor = ray.remote(Trainer)
    trainers = [
        actor.options(num_cpus=0, resources={side: 1}).remote(rank, timeout_seconds)
        for rank, side in enumerate(SIDES)
    ]
    port = ray.get(trainers[0].listen.remote())
    ray.get([trainer.connect.remote(port) for trainer in trainers])
    return trainers


def _print(**facts: object) -> None:
    print(json.dumps(facts), flush=True)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), float(sys.argv[2])))
