"""The recorder's numbers: the meter, and who is told what it says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from necroscope.errors import UsageError
from necroscope.exporter.exposition import render
from necroscope.exporter.meter import Meter
from necroscope.exporter.textfile import Textfile
from necroscope.model.quantities import parse_address
from necroscope.model.recorder_status import Status
from necroscope.signals.thresholds import Thresholds
from necroscope.store.config import RecordSettings


class AgentMetrics:
    """Serves and writes what the meter says, as the settings ask for."""

    def __init__(self, thresholds: Thresholds, status: Callable[[], Status], *, per_core: bool) -> None:
        self.meter = Meter(thresholds, per_core=per_core)
        self._status = status
        self._textfile: Textfile | None = None

    def set_limits(self, thresholds: Thresholds) -> None:
        """What counts from now on."""
        self.meter.set_limits(thresholds)

    @property
    def textfile_error(self) -> str:
        """Why the textfile cannot be written now; empty: it can, or there is none."""
        return self._textfile.error if self._textfile else ""

    @contextmanager
    def told(self, settings: RecordSettings, say: Callable[[str], None]) -> Iterator[None]:
        """Listen and write until the end."""
        with self._listening(settings.listen, say), self._writing(settings.textfile):
            yield

    def _text(self) -> str:
        return render(self.meter, self._status())

    @contextmanager
    def _listening(self, address: str, say: Callable[[str], None]) -> Iterator[None]:
        if not address:
            yield
            return
        # Imported here: a recorder that nobody scrapes does without.
        from necroscope.exporter.server import MetricsServer

        try:
            server = MetricsServer(*parse_address(address), self._text)
        except (ValueError, OSError) as error:
            hint = "--listen HOST:PORT, as in 127.0.0.1:9464"
            raise UsageError(f"cannot listen on {address}: {error}", hint=hint) from error
        say(f"metrics on port {server.port}")
        try:
            yield
        finally:
            server.close()

    @contextmanager
    def _writing(self, path: str) -> Iterator[None]:
        if not path:
            yield
            return
        try:
            self._textfile = Textfile(Path(path), self._text)
        except OSError as error:
            hint = "--textfile names a file in the folder of node_exporter's --collector.textfile.directory"
            raise UsageError(f"cannot write {path}: {error.strerror}", hint=hint) from error
        try:
            yield
        finally:
            self._textfile.close()
