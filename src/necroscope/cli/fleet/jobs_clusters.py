"""The clusters that `fleet jobs` asks: which, with what token, and what they told."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from necroscope.cli.fleet.asking import AskedFleet, place_address
from necroscope.errors import ClusterError, UsageError
from necroscope.fleet.engine.ray_token import RAY_HINT, ray_token
from necroscope.fleet.jobs.host_names import (
    HostNames,
    cluster_name,
    hosts_of_nodes,
    jobs_of,
    known_hosts,
    read_hosts_file,
)
from necroscope.fleet.jobs.kept_jobs import keep_jobs, remember_nodes, remembered_nodes
from necroscope.fleet.jobs.nodes_of_ray_pods import kubernetes_api, own_namespace, read_pods
from necroscope.fleet.jobs.ray_api import read_cluster
from necroscope.fleet.jobs.web_api import WebApi
from necroscope.fleet.place.place import open_place
from necroscope.fleet.questions.jobs_gathered import Recorded, gather_identities
from necroscope.model.fleet.job import Job
from necroscope.sources.http_client import parse_server
from necroscope.store.store import safe_name


@dataclass(frozen=True, slots=True)
class AskedCluster:
    """A cluster that is to be asked."""

    name: str
    address: str
    token_file: Path | None


@dataclass(frozen=True, slots=True)
class Told:
    """What the clusters have told."""

    jobs: tuple[Job, ...] = ()
    complete: tuple[Job, ...] = ()  # of them, those of which all nodes were asked for
    hosts: tuple[tuple[str, dict[str, str]], ...] = ()  # of each cluster: node id to host
    notes: tuple[str, ...] = ()


def check_clusters(arguments: argparse.Namespace) -> list[AskedCluster]:
    """The clusters of the command line. UsageError: names or tokens are not as many as they."""
    addresses, names, tokens = arguments.ray, arguments.cluster, arguments.token_file
    if not addresses:
        for word in ("token_file", "keep", "hosts_file", "kubernetes", "ca_file"):
            if getattr(arguments, word):
                raise UsageError(
                    f"--{word.replace('_', '-')} is for clusters that are asked", hint="--ray URL"
                )
        return []
    if names and len(names) != len(addresses):
        raise UsageError("there are not as many --cluster as --ray", hint="name each, or none")
    if len(tokens) not in (0, 1, len(addresses)):
        raise UsageError("there are not as many --token-file as --ray", hint="one for all, or one for each")
    for address in addresses:
        parse_server(address)
    found = [safe_name(name) for name in names] or [cluster_name(address) for address in addresses]
    if not all(found) or len(set(found)) < len(found):
        raise UsageError("two clusters have the same name, or one has none", hint="--cluster NAME")
    each = tokens if len(tokens) == len(addresses) else (tokens or [None]) * len(addresses)
    return [AskedCluster(*row) for row in zip(found, addresses, each, strict=True)]


def ask_clusters(
    arguments: argparse.Namespace,
    clusters: Sequence[AskedCluster],
    fleet: AskedFleet,
    recorded: Recorded,
) -> Told:
    """Ask all. ClusterError: none could be asked; of several, one that could not is told."""
    if not clusters:
        return Told()
    names, told, failures = _host_names(arguments, recorded, fleet), Told(), []
    place = open_place(place_address(arguments))
    for cluster in clusters:
        api = WebApi(cluster.address, ray_token(cluster.token_file), RAY_HINT, arguments.ca_file)
        try:
            seen = read_cluster(api, *fleet.span_us)
        except ClusterError as error:
            failures.append(error)
            continue
        its = replace(names, remembered=remembered_nodes(place, cluster.name))
        jobs = jobs_of(cluster.name, seen, its)
        told = Told(
            (*told.jobs, *jobs),
            (*told.complete, *(job for job in jobs if job.id in seen.asked)),
            (*told.hosts, (cluster.name, hosts_of_nodes(seen, its))),
            (*told.notes, *(f"{cluster.name}: {note}" for note in seen.notes)),
        )
    if len(failures) == len(clusters):
        raise failures[0]
    return replace(told, notes=(*told.notes, *(f"{error.what} ({error.hint})" for error in failures)))


def keep(address: str, told: Told, kept: Sequence[Job], now_us: int) -> None:
    """Write what was seen into the place."""
    place = open_place(address)
    keep_jobs(place, told.complete, {(job.cluster, job.id) for job in kept})
    for cluster, hosts in told.hosts:
        remember_nodes(place, cluster, hosts, now_us)


def _host_names(arguments: argparse.Namespace, recorded: Recorded, fleet: AskedFleet) -> HostNames:
    known = known_hosts(recorded.us, gather_identities(fleet.tables, fleet.engine, *fleet.span_us))
    from_file = read_hosts_file(arguments.hosts_file) if arguments.hosts_file else {}
    pods = None
    if arguments.kubernetes:
        api = kubernetes_api(arguments.kubernetes, arguments.kubernetes_token, arguments.kubernetes_ca)
        pods = read_pods(api, arguments.kubernetes_namespace or own_namespace())
    return HostNames(known, from_file, pods)
