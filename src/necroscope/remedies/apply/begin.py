"""How all that changes a machine begins: alone, and with a line in the log where it is refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from necroscope.errors import RefusedError
from necroscope.model.fix import Fix
from necroscope.remedies.apply.audit_log import Asked, log_refusal
from necroscope.remedies.apply.executor import Site
from necroscope.remedies.apply.fixes import find_fix
from necroscope.remedies.apply.lock import held
from necroscope.remedies.apply.record_check import refuse_foreign_record
from necroscope.remedies.apply.refusals import (
    refuse_begun_elsewhere,
    refuse_other_host,
    refuse_unfinished,
    refuse_without_root,
)

APPLY, CONTINUE, UNDO = "--apply", "--continue", "--undo"


@contextmanager
def begun_alone(site: Site, treatments: tuple[str, ...]) -> Iterator[None]:
    """Keep others out of a new fix, and log what is refused inside."""
    with _alone(site, Asked(APPLY, treatments=treatments)):
        refuse_unfinished(site.store, site.host)
        yield


@contextmanager
def reopened(id: str, site: Site, how: str) -> Iterator[Fix]:
    """A fix of the store that goes on or is taken back; others are kept out, and refusals inside logged."""
    with _alone(site, Asked(how, fix=id)):
        fix = find_fix(site.store, id)
        refuse_other_host(fix, site.host)
        refuse_foreign_record(fix, site.host)
        refuse_unfinished(site.store, site.host, but=id)
        yield fix


@contextmanager
def _alone(site: Site, asked: Asked) -> Iterator[None]:
    try:
        refuse_without_root(site.host)
        with held(site.store, site.host):
            refuse_begun_elsewhere(site.store, site.host)
            yield
    except RefusedError as error:
        log_refusal(site.store, site.who, asked, error)
        raise
