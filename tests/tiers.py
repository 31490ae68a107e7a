"""Which tests `make test` runs, which `make test-real` does, and which of those run at the same time.

    fast     what only computes, and one test of each real subsystem (SMOKE_FILE): `make test`
    real     all others that touch this machine: containers, cgroups, perf, the kernel log: `make test-real`
    servers  with guests, real servers or half a minute of waiting: `make test-servers`
    long     minutes each: `make test-lab`

Tests of one lane run one after the other; lanes run at the same time. The tests of a file are a lane, because
they share what is costly to make. Tests that count or purge the memory cgroups of the whole machine see what
others of this kind do, and form one lane. What judges the whole machine, or what a load from outside would
spoil, runs alone (ALONE). machine_locks.py keeps all of
this true if somebody tests in another clone meanwhile.
"""

from __future__ import annotations

from functools import cache

REAL_FOLDERS = ("tests/real/",)
REAL_FILES = {
    "tests/deploy/test_systemd_unit.py",
    "tests/deploy/test_user_of_the_pod.py",
    "tests/fleet/ship/test_recorder_ships.py",
    "tests/kubernetes/test_npd_program.py",
    "tests/lab/running/test_interruptions.py",
    "tests/lab/running/test_killed_runs.py",
    "tests/lab/running/test_processes.py",
    "tests/lab/running/test_run.py",
    "tests/lab/running/test_stage.py",
    "tests/lab/test_ecs_agents.py",
    "tests/lab/test_incidents.py",
    "tests/lab/test_kubelets.py",
    "tests/lab/test_leaking_units.py",
    "tests/lab/test_nspawn.py",
    "tests/lab/test_pinterest_pings.py",
    "tests/lab/test_queue_watchers.py",
    "tests/lab/test_scenarios.py",
    "tests/lab/test_soak.py",
    "tests/lab/test_tracefs.py",
    "tests/lab/test_two_zones.py",
    "tests/lab/test_undo_of_faults.py",
    "tests/lab/training/test_network.py",
    "tests/profiles/export/test_pprof.py",
    "tests/profiles/test_against_perf_script.py",
    "tests/profiles/test_capture.py",
    "tests/profiles/test_containers.py",
    "tests/profiles/test_import_text.py",
    "tests/profiles/test_known_work.py",
    "tests/remedies/plan/test_purge_zombies.py",
    "tests/security/test_connections.py",
    "tests/security/test_kernel_log.py",
    "tests/security/test_liveness.py",
    "tests/security/test_mapping_floods.py",
    "tests/security/test_sandbox.py",
    "tests/security/test_sealing_child.py",
    "tests/security/test_symbol_files.py",
    "tests/security/test_thread_floods.py",
    "tests/security/test_unprivileged_fixes.py",
    "tests/security/test_zombie_search.py",
    "tests/sources/test_page_owners.py",
    "tests/sources/test_zombie_holders.py",
    "tests/web/test_live.py",
}
# One test of each real subsystem, so that `make test` notices when one is broken. The page in a browser is
# not here: the tests of tests/web only compute.
SMOKE_FILE = "tests/real/test_smoke.py"
# Files that count, make or purge memory cgroups of the whole machine.
ZOMBIES = {
    SMOKE_FILE,
    "tests/kubernetes/test_npd_program.py",
    "tests/kubernetes/test_npd_real.py",
    "tests/kubernetes/test_recorder_in_a_cluster.py",
    "tests/lab/test_ecs_agents.py",
    "tests/lab/test_incidents.py",
    "tests/lab/test_kubelets.py",
    "tests/lab/test_leaking_units.py",
    "tests/lab/test_soak.py",
    "tests/lab/test_undo_of_faults.py",
    "tests/real/test_alerts.py",
    "tests/real/test_clean_before_removal.py",
    "tests/real/test_dashboard.py",
    "tests/real/test_fix.py",
    "tests/real/test_fix_choice.py",
    "tests/real/test_ledger.py",
    "tests/real/test_nothing_changes.py",
    "tests/real/test_other_root.py",
    "tests/real/test_purge.py",
    "tests/real/test_verify.py",
    "tests/real/test_zombies.py",
    "tests/real/test_zombies_verb.py",
    "tests/remedies/plan/test_purge_zombies.py",
    "tests/security/test_zombie_search.py",
    "tests/sources/test_page_owners.py",
    "tests/sources/test_zombie_holders.py",
}
# Each with what would spoil it.
ALONE = {
    "tests/fleet/jobs/test_real_jobs.py": "a job is late under load",
    "tests/lab/running/test_interruptions.py": "the machine is compared with what it was before",
    "tests/lab/running/test_killed_runs.py": "the machine is compared with what it was before",
    "tests/lab/running/test_run.py": "the machine is compared with what it was before",
    "tests/lab/running/test_stage.py": "the machine is compared with what it was before",
    "tests/lab/test_incidents.py": "what others free gets into the functions that a walk is seen in",
    "tests/lab/test_kubelets.py": "load of others changes the times that it compares",
    "tests/lab/test_pinterest_pings.py": "load of others changes the times that it compares",
    "tests/lab/test_scenarios.py": "load of others is the cause that is then diagnosed",
    "tests/lab/test_two_zones.py": "the machine is compared with what it was before",
    "tests/lab/training/test_job.py": "a job is late under load; all processes of Ray are counted",
    "tests/lab/training/test_network.py": "load changes its times; all network namespaces are counted",
    "tests/profiles/test_against_perf_script.py": "perf 6.1 aborts on some of what others start and end",
    "tests/profiles/test_import_text.py": "perf 6.1 aborts on some of what others start and end",
    "tests/real/test_cores.py": "a CPU that others fill is not this test's",
    "tests/real/test_culprit_recordings.py": "whatever others do stands out",
    "tests/real/test_diagnose.py": "load of others is the cause that is then diagnosed",
    "tests/real/test_fleet_culprit_recordings.py": "whatever others do stands out",
    "tests/real/test_ledger.py": "compares its counts with those of the whole kernel",
    "tests/real/test_move_interrupts.py": "moves interrupts of the machine, which snapshots show",
    "tests/real/test_recorder_clock.py": "sets the wall clock of the machine",
    "tests/real/test_recorder_disk.py": "fills all CPUs, and a disk as fast as it is sealed",
    "tests/real/test_recorder_flight.py": "any event in the kernel log makes it write",
    "tests/real/test_recorder_gaps.py": "fills all CPUs",
    "tests/real/test_recorder_kills.py": "fills all CPUs",
    "tests/security/test_connections.py": "load of others changes the times that it compares",
    "tests/server/test_slow_requests.py": "load of others changes the times that it compares",
}
GUESTS = {  # a guest is a machine of its own, so each test is a lane
    "tests/kubernetes/test_npd_in_guests.py",
    "tests/lab/test_kernels.py",
    "tests/lab/test_pinterest_guest.py",
    "tests/lab/test_qemu.py",
    "tests/real/test_clean_kernels.py",
    "tests/real/test_kernels.py",
    "tests/real/test_purge_kernels.py",
    "tests/real/test_zombies_kernels.py",
}


def file_of(nodeid: str) -> str:
    """Return the file of a test."""
    return nodeid.partition("::")[0]


@cache
def touches_machine(file: str) -> bool:
    """Return whether all tests of a file touch this machine."""
    return (file.startswith(REAL_FOLDERS) and file != SMOKE_FILE) or file in REAL_FILES


def lane_of(nodeid: str) -> str:
    """Return the name of a test's lane."""
    file = file_of(nodeid)
    if file in GUESTS:
        return nodeid
    return "zombies" if file in ZOMBIES else file
