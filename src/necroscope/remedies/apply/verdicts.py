"""The newest verdict that somebody got about a fix: a file in the folder of the fix.

Only the newest is kept: `verify` may be asked every minute. What a fix has come to is read from its journal
alone.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from necroscope.errors import StoreError
from necroscope.model.kept_verdict import KeptVerdict
from necroscope.model.verdict import Comparison, Measure, Verdict, Verification
from necroscope.remedies.apply.fixes_folder import fixes_folder, opened_fixes

VERDICT = "verdict.json"
MAX_BYTES = 4 << 20
SCHEMA = 1


def keep_verdict(store: Path, kept: KeptVerdict) -> None:
    """Put a verdict beside its fix, in place of an older one. Raises OSError, StoreError."""
    document = {"schema": SCHEMA, **asdict(kept)}
    with opened_fixes(store) as fixes, fixes.inside(kept.verification.fix) as folder:
        folder.write(VERDICT, json.dumps(document, default=_word).encode())


def read_verdict(store: Path, fix: str) -> KeptVerdict | None:
    """The verdict beside a fix; None where nobody asked. Raises StoreError, which names the file."""
    path = fixes_folder(store) / fix / VERDICT
    try:
        with opened_fixes(store) as fixes, fixes.inside(fix) as folder:
            document = json.loads(folder.read(VERDICT, MAX_BYTES))
        if document.pop("schema") != SCHEMA:
            raise ValueError("it has another schema")
        return KeptVerdict(**{**document, "verification": _verification(document["verification"])})
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        hint = "another version of necroscope may have made it; `necroscope verify` makes a new one"
        raise StoreError(f"{path}: {error}", hint=hint) from error


def _word(value: Verdict) -> str:
    return value.value


def _verification(document: dict[str, Any]) -> Verification:
    comparisons = tuple(_comparison(one) for one in document["comparisons"])
    verdict = Verdict(document["verdict"])
    return Verification(**{**document, "comparisons": comparisons, "verdict": verdict})


def _comparison(document: dict[str, Any]) -> Comparison:
    sides = {side: Measure(**measure) for side in ("before", "after") if (measure := document[side])}
    return Comparison(**{**document, **sides, "verdict": Verdict(document["verdict"])})
