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


class UntrustedFolderError(StoreError):
    """Another user could change a folder in which root was to write, or what is above it.

    Its owner could lay links there and have root write elsewhere. The message names the folder.
    """

    slug = "untrusted-folder"


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


class SnapshotError(NecroscopeError):
    """A file is not a snapshot, is damaged, or is of another version.

    `necroscope snapshot -o FILE` makes one. Nothing was compared.
    """

    slug = "bad-snapshot"


class PlanError(NecroscopeError):
    """A file is not a plan, is damaged, or is of another version. Nothing was changed.

    `necroscope fix ... --json` prints one.
    """

    slug = "bad-plan"


class RefusedError(NecroscopeError):
    """A plan is not carried out here: we are not root, it stops a vital unit, or there is nothing to apply.

    Nothing was changed. The message says what would be needed.
    """

    slug = "fix-refused"


class HostChangedError(RefusedError):
    """The host is not as the plan was made for, or no longer as the fix left it that is to be taken back.

    Nothing was changed. The message says what differs. Of a plan, its file may also have steps that are not
    ours: `necroscope fix` makes a new one. Of an undo, `--force` overwrites what somebody changed since.
    """

    slug = "host-changed"


class FixHeldError(RefusedError):
    """Another fix is being carried out on this machine, or one ended in the middle.

    Nothing was changed. Wait for the first to end; `necroscope fix --list` shows it, and one that has been
    left in the middle goes on with `--continue ID` or is taken back with `--undo ID`.
    """

    slug = "fix-held"


class ChangeError(NecroscopeError):
    """A step of a fix failed, or did not have its effect. The steps before it hold.

    The message names the step. `necroscope fix --undo ID` takes back what was done, `--continue ID` tries
    the rest again.
    """

    slug = "fix-failed"


class CannotListenError(NecroscopeError):
    """The server cannot listen: the port is in use or may not be used, or there is no such address here.

    `--listen HOST:PORT` names another; port 0 is any free one, which is printed.
    """

    slug = "cannot-listen"
    exit_code = 3


class TokenWantedError(NecroscopeError):
    """The server answers only those who have its token, and this request had none or a wrong one.

    The page asks for it. A program sends it as `Authorization: Bearer TOKEN`.
    """

    slug = "token-wanted"


class ForeignRequestError(NecroscopeError):
    """A request came under a name that is not the server's, from a foreign page, or through a proxy unknown.

    The page is opened by the address that `serve` prints. `--allow-host NAME` adds a name,
    `--behind-proxy` tells of a proxy.
    """

    slug = "foreign-request"


class BusyError(NecroscopeError):
    """Too many questions wait for the server to answer them; it keeps its work small for the recorder's sake.

    Ask again in a few seconds.
    """

    slug = "busy"
    exit_code = 3


class NotInstalledError(NecroscopeError):
    """A package that only some verbs need is not installed.

    The message names it. `make fleet` in a clone, or `pip install 'necroscope[fleet]'`, installs what the
    fleet questions need.
    """

    slug = "not-installed"
    exit_code = 3


class PlaceError(NecroscopeError):
    """The fleet's place cannot be used: it is away, there is no such bucket, or it refuses us.

    The message says which. What was to be sent is kept and sent later; what is in the place is not changed.
    """

    slug = "fleet-place"
    exit_code = 3


class ClusterError(NecroscopeError):
    """A cluster cannot be asked: it is away, or it wants a token, or it does not understand us.

    The message says which. Nothing in the cluster was changed.
    """

    slug = "cluster"
    exit_code = 3


class NotReportedError(NecroscopeError):
    """The Kubernetes API server cannot be told how this node is: it is away, too busy, or fails.

    The message says which. What there is to tell is kept and told later; the recording goes on.
    """

    slug = "kubernetes-away"
    exit_code = 3


class ReportRefusedError(NecroscopeError):
    """The Kubernetes API server does not let us report: the token, rights, a policy or the node's name.

    The message has its own words, and the hint what to mend. It is tried again every few minutes.
    """

    slug = "kubernetes-refused"
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
        UntrustedFolderError,
        ImportFileError,
        NoSamplesError,
        NothingRecordedError,
        SnapshotError,
        PlanError,
        RefusedError,
        HostChangedError,
        FixHeldError,
        ChangeError,
        CannotListenError,
        TokenWantedError,
        ForeignRequestError,
        BusyError,
        NotInstalledError,
        PlaceError,
        ClusterError,
        NotReportedError,
        ReportRefusedError,
    )
}
