from __future__ import annotations

from necroscope.diagnosis.causes import load_causes
from necroscope.diagnosis.symptom import KINDS
from necroscope.findings.catalog import ALL_DETECTORS
from necroscope.model.remedy_ids import REMEDIES
from necroscope.remedies.plan.choose import ORDER
from necroscope.remedies.plan.goals import A_FULL_CORE, BY_FINDING, BY_LINK, BY_SYMPTOM, OWN
from necroscope.remedies.verify.quantities import QUANTITIES


def test_every_goal_is_a_quantity_that_verify_measures() -> None:
    asked = [
        quantity for table in (BY_FINDING, BY_SYMPTOM, BY_LINK) for row in table.values() for quantity in row
    ]
    assert {*asked, *A_FULL_CORE, *OWN.values()} <= set(QUANTITIES)


def test_every_finding_that_a_remedy_may_mend_has_a_goal() -> None:
    without = {"capture-gap", "unit-held-back", "userspace-kernel-lines"}  # which only a person can
    assert {detector.id for detector in ALL_DETECTORS} - set(BY_FINDING) == without
    assert set(BY_FINDING) <= {detector.id for detector in ALL_DETECTORS}


def test_every_link_of_a_chain_has_a_goal() -> None:
    assert set(BY_LINK) == {link.id for link in load_causes().links}
    assert set(BY_SYMPTOM) <= {kind for kinds in KINDS for kind in kinds}


def test_links_ask_for_remedies_that_there_are() -> None:
    asked = {remedy.split()[0] for link in load_causes().links for remedy in link.remedies}
    assert asked <= set(REMEDIES) == set(ORDER)
