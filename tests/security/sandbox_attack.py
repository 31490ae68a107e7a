"""Run inside the sandbox of the recorder's unit: try to change another user's process.

Reads where the victim is (/run/victim.json), and prints a JSON object: for every attempt "" if it went well,
else the error. Needs nothing but Python. As `sandbox_attack.py victim` it is the victim.
"""

import ctypes
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

VICTIM = Path("/run/victim.json")
ROOTS_FILE = Path("/run/roots-file")
UNTOUCHED, OVERWRITTEN = b"untouched", b"overwrite"
PTRACE_ATTACH, PTRACE_POKEDATA, PTRACE_DETACH = 16, 5, 17
MADV_PAGEOUT = 21
# x86_64 and arm64
CALLS = {
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "process_madvise": (440, 440),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
}
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


class Piece(ctypes.Structure):
    """struct iovec."""

    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def check(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def call(name: str, *arguments: object) -> int:
    number = CALLS[name][os.uname().machine == "aarch64"]
    words = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    return check(libc.syscall(ctypes.c_long(number), *words))


class Attack:
    """Every attempt is on this victim."""

    def __init__(self, pid: int, address: int, file: int, memory_file: int) -> None:
        self.pid, self.address, self.file, self.memory_file = pid, address, file, memory_file
        self._ours = ctypes.create_string_buffer(OVERWRITTEN)

    def _pieces(self) -> tuple[Piece, Piece]:
        ours = Piece(ctypes.addressof(self._ours), len(OVERWRITTEN))
        return ours, Piece(self.address, len(OVERWRITTEN))

    def process_vm_writev(self) -> None:
        ours, theirs = self._pieces()
        call("process_vm_writev", self.pid, ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0)

    def process_vm_readv(self) -> None:
        ours, theirs = self._pieces()
        call("process_vm_readv", self.pid, ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0)

    def process_madvise(self) -> None:
        handle = call("pidfd_open", self.pid, 0)
        theirs = Piece(self.address & ~4095, 4096)
        call("process_madvise", handle, ctypes.byref(theirs), 1, MADV_PAGEOUT, 0)

    def pidfd_getfd(self) -> None:
        stolen = call("pidfd_getfd", call("pidfd_open", self.pid, 0), self.file, 0)
        os.write(stolen, OVERWRITTEN)

    def ptrace(self) -> None:
        check(libc.ptrace(PTRACE_ATTACH, self.pid, None, None))
        try:
            os.waitpid(self.pid, 0x40000000)
            word = int.from_bytes(OVERWRITTEN[:8], sys.byteorder)
            check(libc.ptrace(PTRACE_POKEDATA, self.pid, self.address, word))
        finally:
            libc.ptrace(PTRACE_DETACH, self.pid, None, None)

    def memory_file_of_proc(self) -> None:
        """/proc/PID/mem is the owner's to write."""
        descriptor = os.open(f"/proc/{self.pid}/mem", os.O_RDWR)
        os.pwrite(descriptor, OVERWRITTEN, self.address)

    def roots_file_by_its_descriptor(self) -> None:
        os.write(os.open(f"/proc/{self.pid}/fd/{self.file}", os.O_WRONLY), OVERWRITTEN)

    def shared_memory(self) -> None:
        os.write(os.open(f"/proc/{self.pid}/fd/{self.memory_file}", os.O_WRONLY), OVERWRITTEN)

    def tmp_of_the_host(self) -> None:
        path = Path(f"/proc/{self.pid}/root/tmp/necroscope-attack")
        path.write_bytes(OVERWRITTEN)
        path.unlink()

    def kcmp(self) -> None:
        call("kcmp", self.pid, self.pid, 1, 0, 0)

    def migrate_pages(self) -> None:
        nodes = ctypes.c_ulong(1)
        call("migrate_pages", self.pid, 64, ctypes.byref(nodes), ctypes.byref(nodes))

    def move_pages(self) -> None:
        call("move_pages", self.pid, 0, None, None, None, 0)


def attempt(what: Callable[[], object]) -> str:
    try:
        what()
    except OSError as error:
        return str(error)
    return ""


def main() -> None:
    attack = Attack(**json.loads(VICTIM.read_text()))
    attempts = {name: getattr(attack, name) for name in vars(Attack) if not name.startswith("_")}
    sys.stdout.write(json.dumps({name: attempt(what) for name, what in attempts.items()}))


def be_the_victim() -> None:
    """Show every tenth of a second whether we have been touched."""
    memory = ctypes.create_string_buffer(UNTOUCHED)
    memory_file = os.memfd_create("shared")
    os.write(memory_file, UNTOUCHED)
    file = os.open(ROOTS_FILE, os.O_RDWR | os.O_CREAT, 0o600)
    where = {
        "pid": os.getpid(),
        "address": ctypes.addressof(memory),
        "file": file,
        "memory_file": memory_file,
    }
    VICTIM.write_text(json.dumps(where))
    VICTIM.chmod(0o644)
    while True:
        state = {
            "memory": memory.value.decode(),
            "shared": os.pread(memory_file, 100, 0).decode(),
            "file": os.pread(file, 100, 0).decode(),
        }
        VICTIM.with_suffix(".partial").write_text(json.dumps(state))
        VICTIM.with_suffix(".partial").replace(VICTIM.with_suffix(".state"))
        time.sleep(0.1)


if __name__ == "__main__":
    be_the_victim() if sys.argv[1:] else main()
