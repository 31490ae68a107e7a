"""Every error a user can see: what happened, what to do, and the exit code.

The slug is a heading in docs/messages.md, and `necroscope explain SLUG` prints that class's docstring.
"""

from __future__ import annotations


class NecroscopeError(Exception):
    """Something went wrong that is neither the user's input nor the machine's: please report it."""

    slug = "internal"
    exit_code = 2

    def __init__(self, what: str, *, hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint


class UsageError(NecroscopeError):
    """The command line asks for something that does not exist or cannot be understood.

    The message names the word it stumbled over; `necroscope VERB --help` lists what is accepted.
    """

    slug = "usage"


class ConfigError(NecroscopeError):
    """The configuration file cannot be read, or sets something that does not exist.

    Nothing was looked at: a threshold with a typing error would otherwise be ignored in silence.
    `necroscope list thresholds` prints every name, its value and its reason.
    """

    slug = "bad-config"


class CannotLookError(NecroscopeError):
    """The machine would not show anything that the command cannot do without.

    This is not a healthy verdict: nothing was seen. The message names what could not be read.
    """

    slug = "cannot-look"
    exit_code = 3


class StoreError(NecroscopeError):
    """The store cannot be written, or a segment in it is damaged or of another version.

    Nothing that was there has been changed. The message names the file.
    """

    slug = "store"


class StoreHeldError(StoreError):
    """Another recorder writes to this store; two would remove each other's segments.

    The message says which process it is and since when. Recorders of other hosts may share the store.
    """

    slug = "store-held"


class ImportFileError(NecroscopeError):
    """A file cannot be imported: it is not a capture, or not of a kind that we can read.

    perf.data (of a little-endian machine), the text of `perf script`, also gzipped, and folded stacks
    are read. Nothing was added to the store.
    """

    slug = "cannot-import"


class NoSamplesError(NecroscopeError):
    """The store has no profile, or none with samples at the time asked for.

    The message says what time there is. `necroscope import FILE` adds a capture.
    """

    slug = "no-samples"
    exit_code = 3


class NothingRecordedError(NecroscopeError):
    """The store has no recording of this host, or none of the time asked for: there is nothing to look at.

    `necroscope record` makes one. An imported capture has samples, but no counters and no events.
    """

    slug = "nothing-recorded"
    exit_code = 3


ERRORS: dict[str, type[NecroscopeError]] = {
    error.slug: error
    for error in (
        NecroscopeError,
        UsageError,
        ConfigError,
        CannotLookError,
        StoreError,
        StoreHeldError,
        ImportFileError,
        NoSamplesError,
        NothingRecordedError,
    )
}
