"""What the words of `fix [WHAT] [SUBJECT]` mean: look at the machine, and choose what to treat.

WHAT is a finding, a remedy, a unit or the id of an event; without it, whatever is found.
"""

from __future__ import annotations

import argparse
import datetime
import difflib
from dataclasses import dataclass, replace

from necroscope.cli.look_now import LookSettings, left_out, look_now
from necroscope.cli.screen import progress_bar
from necroscope.cli.times import EVENT_ID
from necroscope.errors import CannotLookError, NecroscopeError, UsageError
from necroscope.findings.catalog import ALL_DETECTORS, UNIT_DETECTORS
from necroscope.model.advice import fix_command
from necroscope.model.diagnosis import Diagnosis
from necroscope.model.examination import NotChecked
from necroscope.model.finding import Finding
from necroscope.model.remedy_ids import OF_A_UNIT, PURGE_ZOMBIES, REMEDIES, SUBJECTS
from necroscope.remedies.plan.choose import (
    NOTHING_FOUND,
    Choice,
    choose_for_all,
    choose_for_diagnosis,
    choose_for_finding,
    choose_for_remedy,
    choose_for_unit,
    without_absent_cores,
)
from necroscope.signals.thresholds import load_thresholds
from necroscope.sources.host import Host
from necroscope.sources.interrupt_affinity import read_online_cores
from necroscope.store.config import load_trust_kmsg

FINDINGS = tuple(detector.id for detector in ALL_DETECTORS)
# Those that doctor looks for among failing units only, and audit among all.
OF_ALL_UNITS = frozenset(detector.id for detector in UNIT_DETECTORS)
NOTHING_SEEN = "nothing was found in what could be looked at"


@dataclass(frozen=True, slots=True)
class Found:
    """What a look gave, and what it could not see."""

    findings: tuple[Finding, ...] = ()
    diagnosis: Diagnosis | None = None
    not_checked: tuple[NotChecked, ...] = ()

    def chosen(self, choice: Choice) -> Choice:
        """A choice that rests on this look."""
        return replace(choice, not_checked=self.not_checked)


def choose(arguments: argparse.Namespace, host: Host) -> Choice:
    """What to treat. It looks for `arguments.duration` seconds where it has to, and changes nothing.

    Of `arguments` it takes `what`, `subject`, `duration`, `config` and `store`.
    """
    what, subject = arguments.what or "", arguments.subject or ""
    if what in REMEDIES:
        return _for_remedy(arguments, host, what, subject)
    choice = _for_trouble(arguments, host, what, subject)
    online = read_online_cores(host).value
    return choice if online is None else without_absent_cores(choice, online)


def _for_trouble(arguments: argparse.Namespace, host: Host, what: str, subject: str) -> Choice:
    if EVENT_ID.fullmatch(what):
        return _for_event(arguments, host, what)
    if what in FINDINGS:
        return _for_finding(arguments, host, what, subject)
    if what:
        return _for_unit(arguments, host, what, subject)
    found = _look(arguments, host)
    choice = choose_for_all(found.findings, found.diagnosis)
    if found.not_checked and choice.reasons == (NOTHING_FOUND,):
        choice = replace(choice, reasons=(NOTHING_SEEN,))
    return found.chosen(choice)


def _for_finding(arguments: argparse.Namespace, host: Host, id: str, subject: str) -> Choice:
    if id in OF_ALL_UNITS:
        found = _look_at_units(arguments, host)
        return found.chosen(choose_for_finding(found.findings, None, id, subject))
    if not host.is_live:
        return Choice((), (f"{id} is of running machines, and {host.root} is an image",), ())
    found = _look(arguments, host)
    return found.chosen(choose_for_finding(found.findings, found.diagnosis, id, subject))


def _for_remedy(arguments: argparse.Namespace, host: Host, remedy: str, subject: str) -> Choice:
    wanted = SUBJECTS.get(remedy, "")
    if wanted and not subject:
        raise UsageError(f"{remedy} needs a subject", hint=fix_command(remedy, wanted))
    if subject and not wanted and remedy != PURGE_ZOMBIES:
        raise UsageError(f"{remedy} is for the whole machine, and takes no subject")
    unit = _unit(host, subject) if wanted == "UNIT" else ""
    if not host.is_live:
        return choose_for_remedy(None, remedy, unit or subject)
    found = _look(arguments, host, unit)
    return found.chosen(choose_for_remedy(found.findings, remedy, unit or subject))


def _for_unit(arguments: argparse.Namespace, host: Host, what: str, subject: str) -> Choice:
    unit = _unit(host, what)
    if subject:
        raise UsageError(f"unexpected argument '{subject}' after the unit {what}")
    found = _look(arguments, host, unit)
    return found.chosen(choose_for_unit(found.findings, found.diagnosis, unit))


def _for_event(arguments: argparse.Namespace, host: Host, id: str) -> Choice:
    """What a diagnosis of a recorded event asks for, and what an audit says of its unit today."""
    diagnosis, not_read = _diagnose_event(arguments, host, id)
    units = [one.subject for one in diagnosis.treatments if one.remedy in OF_A_UNIT]
    found = _look(arguments, host, *units) if diagnosis.treatments else Found()
    # Of a recording that is damaged, both the diagnosis and the look may tell.
    not_checked = tuple(dict.fromkeys((*not_read, *found.not_checked)))
    return replace(choose_for_diagnosis(found.findings, diagnosis), not_checked=not_checked)


def _diagnose_event(arguments: argparse.Namespace, host: Host, id: str) -> tuple[Diagnosis, list[NotChecked]]:
    """Why it happened, and which recordings could not be asked."""
    # Imported here: most plans come from a look, and need no columns of a store.
    from necroscope.diagnosis.diagnose import diagnose
    from necroscope.diagnosis.read_around_event import recorded_scene
    from necroscope.diagnosis.symptom import KINDS
    from necroscope.store.store import Store
    from necroscope.store.stored_events import find_event

    name = host.name()
    store = Store(arguments.store)
    segments = store.segments()
    damaged = [*store.damaged]
    stored = find_event([one for one in segments if one.host == name] or segments, id)
    explained = [kind for kinds in KINDS for kind in kinds]
    if stored.event.kind not in explained:
        raise UsageError(f"{id} is nothing to explain", hint=f"what is: {', '.join(explained)}")
    if stored.segment.host != name:
        raise UsageError(f"{id} happened on {stored.segment.host}, and this is {name or 'an image'}")
    scene = recorded_scene(segments, stored, load_thresholds(arguments.config), damaged)
    if scene is None:
        raise CannotLookError(f"of the time around {id} there are no counters")
    return diagnose(scene, stored.event), left_out(damage.error for damage in damaged)


def _unit(host: Host, word: str) -> str:
    """The unit that a word means, by its own name. What is no unit may be a misspelt id."""
    from necroscope.remedies.plan.subject import find_unit

    try:
        return find_unit(host, word).name
    except NecroscopeError as error:
        near = difflib.get_close_matches(word, [*FINDINGS, *REMEDIES], n=1, cutoff=0.8)
        if near:
            raise UsageError(f"nothing is called '{word}'", hint=f"did you mean {near[0]}?") from error
        raise


def _look(arguments: argparse.Namespace, host: Host, *units: str) -> Found:
    """What doctor would find, these units judged too; in an image, what audit would."""
    if not host.is_live:
        return _look_at_units(arguments, host)
    named = [unit for unit in units if unit]
    trust_kmsg = load_trust_kmsg(arguments.config)
    settings = LookSettings(
        arguments.duration, load_thresholds(arguments.config), arguments.store, trust_kmsg
    )
    looked = look_now(host, settings, named)
    if looked.segment.interrupted:
        raise KeyboardInterrupt
    return Found(looked.examination.findings, looked.diagnosis, looked.examination.not_checked)


def _look_at_units(arguments: argparse.Namespace, host: Host) -> Found:
    # Imported here, as doctor does: it is half of the time to start.
    from necroscope.inventory.judge import judge
    from necroscope.inventory.look import look_at_units
    from necroscope.inventory.policy import Policy

    look = look_at_units(host, arguments.duration, load_thresholds(arguments.config), progress_bar)
    if look.interrupted:
        raise KeyboardInterrupt
    judgement = judge(look.inventory, look.loops, Policy(), datetime.date.min)
    return Found(judgement.findings, None, judgement.not_checked)
