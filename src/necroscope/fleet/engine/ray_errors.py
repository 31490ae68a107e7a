"""What goes wrong with a cluster, in words, and errors of our own tasks as they were raised."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from necroscope.errors import ClusterError, NecroscopeError
from necroscope.fleet.engine.ray_token import ray_token

TOKEN_HINT = "the cluster's own token in RAY_AUTH_TOKEN, RAY_AUTH_TOKEN_PATH or ~/.ray/auth_token"
ADDRESS_HINT = "auto, HOST:6379 on a node of the cluster, or ray://HOST:10001 from elsewhere"
REFUSED = re.compile(
    r"InvalidAuthToken|UNAUTHENTICATED|authentication token|AuthenticationError", re.IGNORECASE
)
NOT_RAY = re.compile(
    r"UNIMPLEMENTED|DEADLINE_EXCEEDED|UNAVAILABLE|waiting for GCS|http2 header|does not answer", re.IGNORECASE
)
VERSIONS = re.compile(r"version mismatch|different versions|does not match the .*version", re.IGNORECASE)
NOT_FOUND = re.compile(r"could not find any running Ray", re.IGNORECASE)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
LONGEST = 300


@contextmanager
def translate_errors(address: str) -> Iterator[None]:
    """Errors of Ray become ClusterError; those of our own work come out as they are."""
    import ray

    try:
        yield
    except ray.exceptions.RayTaskError as error:  # made to look like its cause, too
        raise _of_task(error.cause) from error
    except NecroscopeError:
        raise
    except ray.exceptions.OutOfMemoryError as error:
        hint = "workers with more memory, or a shorter range"
        raise ClusterError(f"{address}: a task took too much memory", hint=hint) from error
    except (ray.exceptions.RayError, ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
        raise cluster_error(address, _all_said(error)) from error


def _of_task(cause: BaseException) -> BaseException:
    if isinstance(cause, ModuleNotFoundError):
        hint = "pip install 'necroscope[fleet]' in the image of the workers"
        return ClusterError(f"a worker of the cluster lacks the package {cause.name}", hint=hint)
    return cause


def cluster_error(address: str, said: str) -> ClusterError:
    """What it means that Ray said something."""
    if REFUSED.search(said):
        ours = "refuses ours" if ray_token(None)() else "there is none"
        return ClusterError(f"{address}: the cluster wants a token, and {ours}", hint=TOKEN_HINT)
    if VERSIONS.search(said):
        return ClusterError(
            f"{address}: the cluster has another Ray or Python: {_short(said)}",
            hint="the same versions as on the cluster: pip install ray==VERSION",
        )
    if NOT_FOUND.search(said):
        hint = "--ray-address HOST:6379 on a node of the cluster, or ray://HOST:10001; none is started"
        return ClusterError("no Ray cluster runs on this machine", hint=hint)
    if NOT_RAY.search(said):
        return ClusterError(f"{address}: no Ray cluster answers there", hint=ADDRESS_HINT)
    return ClusterError(f"{address}: {_short(said)}", hint="ray status on the cluster says how it is")


def _all_said(error: BaseException | None) -> str:
    """The messages of an error and of those that led to it."""
    said: list[str] = []
    while error is not None and len(said) < 10:
        said.append(f"{type(error).__name__}: {COLOUR.sub('', str(error))}")
        error = error.__cause__ or error.__context__
    return "\n".join(said)


def _short(said: str) -> str:
    line = " ".join(said.split())
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}..."
