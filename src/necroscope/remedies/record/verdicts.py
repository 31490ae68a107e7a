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
from necroscope.recording.durable import sync_folder, write_durably
from necroscope.remedies.record.fixes import fixes_folder

VERDICT = "verdict.json"
SCHEMA = 1


def keep_verdict(store: Path, kept: KeptVerdict) -> None:
    """Put a verdict beside its fix, in place of an older one. Raises OSError."""
    folder = fixes_folder(store) / kept.verification.fix
    document = {"schema": SCHEMA, **asdict(kept)}
    write_durably(folder / VERDICT, json.dumps(document, default=_word).encode(), mode=0o600)
    sync_folder(folder)


def read_verdict(store: Path, fix: str) -> KeptVerdict | None:
    """The verdict beside a fix; None where nobody asked. Raises StoreError, which names the file."""
    path = fixes_folder(store) / fix / VERDICT
    try:
        document = json.loads(path.read_bytes())
        if document.pop("schema") != SCHEMA:
            raise ValueError("it has another schema")
        return KeptVerdict(**{**document, "verification": _verification(document["verification"])})
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
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
