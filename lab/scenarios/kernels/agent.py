"""Make and remove memory cgroups, each with a child in it that touches one file: what leaves zombies.

    python -IS agent.py PARENT VERB [SCRIPT]

Standard input has a line for each: the name of the cgroup, a tab, its file. VERB is read or write. The child
then becomes a shell with SCRIPT, if there is one. Prints the size of all files in bytes, in whole pages.

It is a program of its own that imports next to nothing, because every child copies it: a fork of the whole
probe takes 70 ms in a guest under software emulation, and one of this 20 ms (measured).
"""

import os
import sys
from pathlib import Path

PAGE_BYTES = 4096


def visit(cgroup: Path, file: Path, verb: str, script: str) -> None:
    """In a child: enter, touch, and end."""
    (cgroup / "cgroup.procs").write_text("0")
    if verb == "write":
        file.write_bytes(bytes(PAGE_BYTES))
    else:
        file.read_bytes()
    if script:
        # With `exit 0` for the dash before it in the unit: how it ends does not count.
        os.execv("/bin/sh", ["sh", "-c", f"{script}; exit 0", "sh", cgroup.name])


def leave(cgroup: Path, file: Path, verb: str, script: str) -> None:
    """Make one, have a child visit it, and remove it."""
    cgroup.mkdir()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            visit(cgroup, file, verb, script)
            code = 0
        finally:
            os._exit(code)
    if os.waitpid(pid, 0)[1]:
        raise SystemExit(f"the child in {cgroup} failed")
    cgroup.rmdir()


def main() -> None:
    """One cgroup after the other."""
    parent, verb = Path(sys.argv[1]), sys.argv[2]
    script = sys.argv[3] if len(sys.argv) > 3 else ""
    Path("/proc/self/comm").write_text("lab-agent")
    pages = 0
    for line in sys.stdin.read().splitlines():
        name, file = line.split("\t")
        leave(parent / name, Path(file), verb, script)
        pages += -(-Path(file).stat().st_size // PAGE_BYTES)
    print(pages * PAGE_BYTES)


if __name__ == "__main__":
    main()
