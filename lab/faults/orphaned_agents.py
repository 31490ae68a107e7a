"""An ECS agent that the image of a container enables by default, with nobody to work for.

It is a stand-in that behaves as the real one does in what an audit can see: the same unit name, program,
configuration file and settings; it wants Docker's socket, a cluster and an answer from its control plane,
keeps the connection, and exits with 1 without any of them. Around it: a second service of the image that
fails for ever and that nobody has heard of, and services that are well.

    with Container() as machine:
        install(machine)        # it crash-loops now
        give_it_work(machine)   # it does not any more

Needs    what `lab.machines.nspawn` needs
Costs    six starts of a small Python a second
"""

from __future__ import annotations

import time
from collections.abc import Callable

from lab.faults.crash_loops import PYTHON
from lab.machines.nspawn import Container

AGENT = "ecs.service"
UNKNOWN = "telemetry-relay.service"
WELL = ("docker.service", "docker-client.service", "quiet.service")
PORT = 51999
SETTLES_SECONDS = 20.0
STAYS_UP_SECONDS = 4.0

AGENT_PROGRAM = f"""#!{PYTHON} -IS
import os, socket, sys
if not os.environ.get("ECS_CLUSTER"):
    sys.exit("no cluster to register with")
docker = socket.socket(socket.AF_UNIX)
docker.connect("/run/docker.sock")
host, _, port = os.environ["ECS_BACKEND_HOST"].removeprefix("http://").partition(":")
with socket.create_connection((host, int(port)), timeout=3) as plane:
    plane.sendall(b"register\\n")
    if plane.recv(16) != b"welcome\\n":
        sys.exit("not registered")
    plane.settimeout(None)
    plane.recv(1)
sys.exit("the control plane hung up")
"""

SERVER_PROGRAM = f"""#!{PYTHON} -IS
import os, socket, sys
kind, address = sys.argv[1:]
if kind == "unix":
    listener = socket.socket(socket.AF_UNIX)
    if os.path.exists(address):
        os.unlink(address)
    listener.bind(address)
else:
    listener = socket.create_server(("127.0.0.1", int(address)))
listener.listen()
kept = []
while True:
    client, _ = listener.accept()
    if kind == "tcp":
        client.recv(16)
        client.sendall(b"welcome\\n")
    kept.append(client)
"""

CLIENT_PROGRAM = f"""#!{PYTHON} -IS
import socket, time
for _ in range(100):
    try:
        docker = socket.socket(socket.AF_UNIX)
        docker.connect("/run/docker.sock")
        break
    except OSError:
        time.sleep(0.1)
docker.recv(1)
"""

RESTARTS = "RestartSec=300ms"


def service(command: str, *lines: str) -> str:
    """A unit file that the image may enable."""
    unit = ["[Unit]", "StartLimitIntervalSec=0", "[Service]", f"ExecStart={command}", *lines]
    return "\n".join([*unit, "[Install]", "WantedBy=multi-user.target", ""])


UNITS = {
    AGENT: service(
        "/usr/libexec/amazon-ecs-init start",
        "EnvironmentFile=-/etc/ecs/ecs.config",
        "Restart=on-failure",
        RESTARTS,
    ),
    UNKNOWN: service("/bin/sh -c 'sleep 0.1; exit 3'", "Restart=always", RESTARTS),
    "docker.service": service("/usr/libexec/lab-server unix /run/docker.sock"),
    "docker-client.service": service("/usr/libexec/lab-client"),
    "quiet.service": service("/bin/sleep infinity"),
    "control-plane.service": service(f"/usr/libexec/lab-server tcp {PORT}"),
}
PRESET = "".join(f"enable {unit}\n" for unit in (AGENT, UNKNOWN, *WELL)) + "disable control-plane.service\n"
PROGRAMS = {
    "usr/libexec/amazon-ecs-init": AGENT_PROGRAM,
    "usr/libexec/lab-server": SERVER_PROGRAM,
    "usr/libexec/lab-client": CLIENT_PROGRAM,
}
FILES = {
    **{f"usr/lib/systemd/system/{name}": text for name, text in UNITS.items()},
    "usr/lib/systemd/system-preset/10-image.preset": PRESET,
    **PROGRAMS,
}


def install(machine: Container) -> None:
    """Put all of it into the image, enable what its presets say, start that, and wait for restarts."""
    for name, text in FILES.items():
        path = machine.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755 if name in PROGRAMS else 0o644)
    _systemctl(machine, "daemon-reload")
    _systemctl(machine, "preset", AGENT, UNKNOWN, *WELL)
    _systemctl(machine, "start", *WELL)
    _systemctl(machine, "start", "--no-block", AGENT, UNKNOWN)
    _wait(machine, lambda: all(_restarts(machine, unit) >= 5 for unit in (AGENT, UNKNOWN)))


def give_it_work(machine: Container) -> None:
    """A valid configuration, and a control plane that answers: its next start succeeds by itself."""
    folder = machine.root / "etc/ecs"
    folder.mkdir(exist_ok=True)
    (folder / "ecs.config").write_text(f"ECS_CLUSTER=lab\nECS_BACKEND_HOST=http://127.0.0.1:{PORT}\n")
    _systemctl(machine, "start", "control-plane.service")
    before = -1
    while (count := _restarts(machine, AGENT)) != before:
        before = count
        time.sleep(STAYS_UP_SECONDS)


def _systemctl(machine: Container, *words: str) -> None:
    done = machine.run(["systemctl", *words])
    if done.returncode:
        raise RuntimeError(f"systemctl {' '.join(words)}: {done.stderr.strip()}")


def _restarts(machine: Container, unit: str) -> int:
    return int(machine.run(["systemctl", "show", "--value", "--property=NRestarts", unit]).stdout)


def _wait(machine: Container, holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SETTLES_SECONDS
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(machine.run(["systemctl", "--failed"]).stdout)
        time.sleep(0.2)
