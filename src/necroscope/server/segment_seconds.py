"""How full the cores were in each second of sealed segments: kept, so that panning reads no file twice."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from threading import Lock

from necroscope import _native
from necroscope.signals.core_heat import Files

MOST_BYTES = 64 << 20  # 12 h of 96 cores take 20 MiB


class SegmentSeconds:
    """The seconds that were asked for last, of at most so many bytes."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._kept: OrderedDict[tuple[Path, int], _native.SegmentHeat] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    @property
    def size_bytes(self) -> int:
        """How much memory is taken."""
        return self._bytes

    def of(self, files: Files) -> list[_native.SegmentHeat | OSError]:
        """The seconds of files, in their order; those not kept are read. A sealed file does not change."""
        with self._lock:
            found = {file: self._kept[file] for file in files if file in self._kept}
            for file in found:
                self._kept.move_to_end(file)
        missing = [file for file in files if file not in found]
        read = dict(zip(missing, _native.seconds_of_files(missing), strict=True))
        with self._lock:
            for file, seconds in read.items():
                if not isinstance(seconds, OSError):
                    self._keep(file, seconds)
        return [found[file] if file in found else read[file] for file in files]

    def _keep(self, file: tuple[Path, int], seconds: _native.SegmentHeat) -> None:
        if file not in self._kept:
            self._bytes += seconds.size_bytes
        self._kept[file] = seconds
        while self._bytes > self._most_bytes:
            _, oldest = self._kept.popitem(last=False)
            self._bytes -= oldest.size_bytes
