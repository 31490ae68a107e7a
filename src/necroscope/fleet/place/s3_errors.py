"""What an S3 says when it refuses or is not there, in words that tell what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from necroscope.errors import PlaceError

AWS_ERROR = re.compile(
    r"AWS Error (?P<name>[A-Z_]+).*? during (?P<operation>\w+) operation: (?P<why>.*)", re.S
)
CHANGING = re.compile(r" ?\(Request ID: [^)]*\)| after \d+ ms")  # a failure that lasts is told once
CREDENTIALS = (
    "credentials come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile, or the instance's role"
)
NO_BUCKET = "make it, or name another; we never do"
CHRONY = "set the clock: chronyc tracking shows how it is kept"


@dataclass(frozen=True, slots=True)
class _Known:
    """A kind of failure: what its text matches, what it means, and what to do."""

    pattern: re.Pattern[str]
    means: str
    hint: str


def _known(pattern: str, means: str, hint: str) -> _Known:
    return _Known(re.compile(pattern, re.IGNORECASE), means, hint)


LATER = "what was to be sent is kept, and sent later"
OWN_PREFIX = f"a host may write below its own prefix alone; or they are wrong: {CREDENTIALS}"
TLS = "is it http:// or https://? ca=FILE in the address names an authority of your own"
# The first that matches counts.
KNOWN = (
    _known("NO_SUCH_BUCKET|NoSuchBucket", "there is no bucket '{bucket}'", NO_BUCKET),
    _known("TIME_TOO_SKEWED|TimeTooSkewed", "it refuses the time of this host's clock", CHRONY),
    _known("SIGNATURE_DOES_NOT_MATCH|SignatureDoesNotMatch", "the secret key is wrong", CREDENTIALS),
    _known("INVALID_ACCESS_KEY_ID|InvalidAccessKeyId", "the access key is not known there", CREDENTIALS),
    _known("Expired_?Token|Invalid_?Token", "the session token is not valid any more", CREDENTIALS),
    _known("ACCESS_DENIED|HTTP status 403", "these credentials are denied access", OWN_PREFIX),
    _known("curlCode: 6,", "its name is not known here: {why}", "look at the endpoint, and at DNS"),
    _known("curlCode: (35|51|53|58|59|60|66|77|80|83|90|91),", "there is no trust by TLS: {why}", TLS),
    _known("curlCode: 28,", "it does not answer in time", LATER),
    _known("curlCode: |NETWORK_CONNECTION", "it is away: {why}", LATER),
    _known("HTTP status 301|AuthorizationHeaderMalformed", "it is in another region: {why}", "region=REGION"),
    _known(
        "SLOW_DOWN|THROTTLING|SERVICE_UNAVAILABLE|INTERNAL_FAILURE|HTTP status 5", "it fails: {why}", LATER
    ),
)


@contextmanager
def told(address: str, bucket: str) -> Iterator[None]:
    """Make a PlaceError of what pyarrow raises; a missing object stays FileNotFoundError."""
    try:
        yield
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:  # ArrowInvalid is a ValueError
        raise place_error(address, bucket, str(error)) from error


def place_error(address: str, bucket: str, text: str) -> PlaceError:
    """The error that a text of the SDK means."""
    why = _why(text)
    for known in KNOWN:
        if known.pattern.search(text):
            return PlaceError(f"{address}: {known.means.format(bucket=bucket, why=why)}", hint=known.hint)
    return PlaceError(f"{address}: {why}", hint=CREDENTIALS)


def _why(text: str) -> str:
    found = AWS_ERROR.search(text)
    why = CHANGING.sub("", found["why"] if found else text)
    return why.rpartition("Details: ")[2].strip().rstrip(".")
