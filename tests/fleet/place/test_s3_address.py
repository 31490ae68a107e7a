"""Addresses of an S3, and what its refusals mean. Nothing here talks to one."""

from __future__ import annotations

import pytest

from necroscope.errors import UsageError

pytest.importorskip("pyarrow", reason="needs pyarrow: make fleet")

from necroscope.fleet.place.place import open_place
from necroscope.fleet.place.s3 import place_error

ADDRESS = "s3://fleet/prefix?endpoint=http://127.0.0.1:8333&region=eu-central-1"


def test_an_address_is_not_asked_anything_yet() -> None:
    assert open_place(ADDRESS).address == ADDRESS


@pytest.mark.parametrize("address", [
    "s3://AKIAIOSFODNN7:hush@fleet/prefix",
    "s3://fleet?access_key=AKIA&secret_key=hush",
    "s3://fleet?endpoint=http://127.0.0.1&session_token=hush",
    "s3://fleet?Secret=hush",
])  # fmt: skip
def test_secrets_are_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(UsageError) as caught:
        open_place(address)
    assert "hush" not in caught.value.what + caught.value.hint
    assert "AWS_ACCESS_KEY_ID" in caught.value.hint


@pytest.mark.parametrize("address", [
    "s3://", "s3:///prefix", "s3://fleet?endpoint=127.0.0.1:8333", "s3://fleet?endpoint=ftp://x",
    "s3://fleet#x", "s3://fleet?endpoint=",
])  # fmt: skip
def test_what_is_no_address(address: str) -> None:
    with pytest.raises(UsageError):
        open_place(address)


CURL = "AWS Error NETWORK_CONNECTION during PutObject operation: curlCode:"
UNKNOWN = "AWS Error UNKNOWN (HTTP status"
# As pyarrow 26 says it; the first eight were heard from SeaweedFS and from the network.
SAID = {
    "AWS Error NO_SUCH_BUCKET during PutObject operation: The specified bucket ...": "no bucket 'b'",
    "AWS Error SIGNATURE_DOES_NOT_MATCH during PutObject operation: The request ...": "secret key is wrong",
    "AWS Error INVALID_ACCESS_KEY_ID during PutObject operation: The ...": "access key is not known",
    "AWS Error ACCESS_DENIED during HeadObject operation: No response body.": "denied access",
    f"{CURL} 6, Could not resolve hostname; Details: Could not resolve host: x": "name is not known",
    f"{CURL} 7, Could not connect; Details: Failed to connect to h:1 after 3 ms: No": "connect to h:1: No",
    f"{CURL} 28, Timeout was reached; Details: Operation too slow.": "in time",
    f"{CURL} 35, SSL connect error; Details: TLS: wrong version number": "by TLS: TLS: wrong",
    f"{CURL} 60, SSL peer certificate or SSH remote key was not OK": "no trust by TLS",
    "AWS Error REQUEST_TIME_TOO_SKEWED during PutObject operation: The ...": "this host's clock",
    f"{UNKNOWN} 400) during PutObject operation: Unable to parse ... ExpiredToken": "session token",
    f"{UNKNOWN} 301) during HeadBucket operation: No response body.": "another region",
    "AWS Error SLOW_DOWN during PutObject operation: Please reduce ...": "it fails: Please reduce",
    f"{UNKNOWN} 507) during PutObject operation: No room": "it fails: No room",
    "something else altogether": "something else altogether",
}


@pytest.mark.parametrize(("said", "means"), SAID.items(), ids=range(len(SAID)))
def test_what_it_means(said: str, means: str) -> None:
    error = place_error("s3://b", "b", f"When uploading object with key 'k' in bucket 'b': {said}")
    assert means in error.what
    assert error.what.startswith("s3://b: ")
    assert error.hint
    assert error.exit_code == 3
