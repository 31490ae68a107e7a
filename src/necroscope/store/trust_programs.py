"""Lines that programs wrote to the kernel log, taken for the kernel's own because somebody asked for that.

The reading itself says so from then on. It is recorded with the lines, so that whoever reads the recording
judges them as the recorder did.
"""

from __future__ import annotations

from dataclasses import replace

from necroscope.model.reading import Reading
from necroscope.sources.kernel_log import KERNEL_LOG
from necroscope.store.segment import Moment


def trusting_programs(moment: Moment) -> Moment:
    """Return the same moment with a kernel log of which every line counts, whoever wrote it."""
    log = moment.readings.get(KERNEL_LOG.id)
    if log is None or log.value is None:
        return moment
    trusted = Reading(replace(log.value, trusts_programs=True), detail=log.detail)
    return replace(moment, readings={**moment.readings, KERNEL_LOG.id: trusted})
