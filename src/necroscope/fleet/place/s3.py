"""S3 as a place: that of Amazon, or any server that speaks like it.

    s3://BUCKET/PREFIX?endpoint=http://HOST:PORT&region=REGION&ca=FILE

Credentials come from the standard chain alone: the environment, a profile, the role of the instance. A bucket
is never made. Small objects take one request; what is not whole is never seen by others.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from pyarrow import ArrowException
from pyarrow.fs import AwsStandardS3RetryStrategy, FileInfo, FileSelector, FileType, S3FileSystem

from necroscope.errors import PlaceError, UsageError
from necroscope.fleet.place.place import HINT, MAX_OBJECT_BYTES, BadObjectError, Stored
from necroscope.sources.plain_files import AtMost, open_plain
from necroscope.store.durable import make_folders, write_durably

AWS_ERROR = re.compile(
    r"AWS Error (?P<name>[A-Z_]+).*? during (?P<operation>\w+) operation: (?P<why>.*)", re.S
)
CHANGING = re.compile(r" ?\(Request ID: [^)]*\)| after \d+ ms")  # a failure that lasts is told once
CREDENTIALS = (
    "credentials come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile, or the instance's role"
)
NO_BUCKET = "make it, or name another; we never do"
CHRONY = "set the clock: chronyc tracking shows how it is kept"
CONNECT_SECONDS, REQUEST_SECONDS, ATTEMPTS = 5.0, 15.0, 3
CHUNK_BYTES = 8 << 20
DEFAULT_REGION = "us-east-1"  # of a server that is not Amazon's, which mostly does not care
WORDS = {"endpoint", "region", "ca"}


def open_s3(address: str) -> S3Place:
    """The place that an address means. UsageError where it cannot be one; nobody is asked yet."""
    parts = urlsplit(address)
    words = dict(parse_qsl(parts.query, keep_blank_values=True))
    # What was written is not repeated: it may be a secret.
    if "@" in parts.netloc or words.keys() - WORDS:
        what = "an address of a place has no secrets, and no settings but endpoint, region and ca"
        hint = "credentials: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile, or the instance's role"
        raise UsageError(what, hint=hint)
    if not parts.netloc or parts.fragment:
        raise UsageError(f"'{address}' names no bucket", hint=HINT)
    endpoint = urlsplit(words.get("endpoint", "https://"))
    if endpoint.scheme not in ("http", "https") or ("endpoint" in words and not endpoint.netloc):
        raise UsageError(f"'{words.get('endpoint')}' is not http://HOST:PORT", hint=HINT)
    with translate_errors(address, parts.netloc):
        files = S3FileSystem(
            endpoint_override=endpoint.netloc or None,
            scheme=endpoint.scheme,
            region=words.get("region") or (DEFAULT_REGION if endpoint.netloc else None),
            tls_ca_file_path=words.get("ca") or None,
            connect_timeout=CONNECT_SECONDS,
            request_timeout=REQUEST_SECONDS,
            retry_strategy=AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS),
            allow_delayed_open=True,  # one request instead of three
            background_writes=False,
            allow_bucket_creation=False,
        )
    return S3Place(address, files, parts.netloc, parts.path.strip("/"))


class S3Place:
    """Objects below a prefix of a bucket."""

    def __init__(self, address: str, files: S3FileSystem, bucket: str, prefix: str) -> None:
        self.address = address
        self._files = files
        self._bucket = bucket
        self._base = f"{bucket}/{prefix}" if prefix else bucket
        self._is_there = False  # whether the bucket was seen

    def read(self, name: str, max_bytes: int = MAX_OBJECT_BYTES) -> bytes | None:
        """Return what an object holds, or None if there is none. PlaceError if it holds more."""
        with self._translate_errors():
            try:
                with self._files.open_input_stream(self._path(name)) as stream:
                    content: bytes = stream.read(max_bytes + 1)
            except FileNotFoundError:
                self._look_for_bucket()
                return None
            if len(content) > max_bytes:
                raise BadObjectError(f"{self.address}: {name} is larger than {max_bytes:,} bytes")
            return content

    def write(self, name: str, content: bytes) -> None:
        """Put an object there, all of it or nothing."""
        with self._translate_errors():
            stream = self._files.open_output_stream(self._path(name))
            stream.write(content)
            stream.close()

    def write_file(self, name: str, path: Path) -> None:
        """The same with the content of a file, a part at a time."""
        with os.fdopen(open_plain(path), "rb") as file, self._translate_errors():
            stream = self._files.open_output_stream(self._path(name))
            try:
                while chunk := file.read(CHUNK_BYTES):
                    stream.write(chunk)
            except BaseException:
                # There is no way to give up a stream: what it has becomes an object, which must go.
                with suppress(OSError, ArrowException):
                    stream.close()
                    self._files.delete_file(self._path(name))
                raise
            stream.close()

    def fetch(self, name: str, path: Path, max_bytes: int) -> bool:
        """Copy an object to a file; False if there is none. PlaceError if it holds more."""
        make_folders(path.parent)
        try:
            with self._translate_errors(), self._files.open_input_stream(self._path(name)) as stream:
                write_durably(path, AtMost(stream, max_bytes))
                return True
        except FileNotFoundError:
            with self._translate_errors():
                self._look_for_bucket()
            return False

    def size(self, name: str) -> int | None:
        """How large an object is; None: there is none."""
        with self._translate_errors():
            try:
                with self._files.open_input_file(self._path(name)) as file:  # one request; an info takes two
                    return int(file.size())
            except FileNotFoundError:
                self._look_for_bucket()
                return None

    def modified_us(self, name: str) -> int | None:
        """When an object was written, by the clock of the place; None: there is none."""
        with self._translate_errors():
            info = self._files.get_file_info(self._path(name))
            return int(info.mtime_ns) // 1000 if info.type == FileType.File and info.mtime_ns else None

    def below(self, prefix: str) -> Iterator[Stored]:
        """All objects below a prefix, in the order of their names."""
        found = [one for one in self._list(prefix, recursive=True) if one.type == FileType.File]
        stored = [
            Stored(self._name(one.path), int(one.size), int(one.mtime_ns or 0) // 1000) for one in found
        ]
        yield from sorted(stored, key=lambda one: one.name)

    def folders(self, prefix: str) -> list[str]:
        """The names right below a prefix that have objects below them."""
        found = self._list(prefix, recursive=False)
        return sorted(one.base_name for one in found if one.type == FileType.Directory)

    def remove(self, name: str) -> None:
        """Take an object away."""
        with self._translate_errors(), suppress(FileNotFoundError):
            self._files.delete_file(self._path(name))

    def _list(self, prefix: str, *, recursive: bool) -> list[FileInfo]:
        below = self._path(prefix) if prefix else self._base
        with (
            self._translate_errors(),
            suppress(FileNotFoundError),
        ):  # a bucket that is not there is another error
            found: list[FileInfo] = self._files.get_file_info(FileSelector(below, recursive=recursive))
            return found
        return []

    def _look_for_bucket(self) -> None:
        """Nothing is there: is it the bucket that is missing? One who may not ask sees it when writing."""
        if self._is_there:
            return
        with suppress(OSError):
            if self._files.get_file_info(self._bucket).type == FileType.NotFound:
                raise place_error(self.address, self._bucket, "NO_SUCH_BUCKET")
        self._is_there = True

    def _path(self, name: str) -> str:
        parts = name.rstrip("/").split("/")
        if any(part in ("", ".", "..") for part in parts):
            raise PlaceError(f"'{name}' is not the name of an object")
        return f"{self._base}/{'/'.join(parts)}"

    def _name(self, path: str) -> str:
        return path.removeprefix(f"{self._base}/")

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        with translate_errors(self.address, self._bucket):
            yield


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
def translate_errors(address: str, bucket: str) -> Iterator[None]:
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
