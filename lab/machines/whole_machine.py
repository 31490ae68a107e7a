"""What makes a container see and change the whole machine: scripts and settings for `nspawn`."""

from __future__ import annotations

# To show the whole hierarchies, nspawn wants all controllers of the kernel below /sys/fs/cgroup. Those that
# the host has not mounted are shown as links, in this mount namespace only.
ALL_CONTROLLERS = """mkdir /run/cgroup
mount -n -t tmpfs -o mode=0755 lab /run/cgroup
find /sys/fs/cgroup -maxdepth 1 -type l -exec cp -P {} /run/cgroup ';'
for place in /sys/fs/cgroup/*/; do
  place=${place%/}
  there=/run/cgroup/${place##*/}
  [ -h "$place" ] || { mkdir "$there"; mount -n --bind "$place" "$there"; }
done
for name in $(awk '$4 == 1 { print $1 }' /proc/cgroups); do
  [ -e "/run/cgroup/$name" ] || ln -s memory "/run/cgroup/$name"
done
mount -n --rbind /run/cgroup /sys/fs/cgroup
"""
# No cgroup namespace, and /proc/sys, /proc/irq and /sys as they are on the host.
WHOLE_MACHINE = {"SYSTEMD_NSPAWN_USE_CGNS": "0", "SYSTEMD_NSPAWN_API_VFS_WRITABLE": "1"}

# The kernel's events name processes as the host does: whoever is to follow them needs the host's /proc.
# systemd's private socket, which systemctl prefers, refuses processes whose number it cannot see. Takes the
# number of the container's systemd, which is shown where that of the host would be among the cgroups.
SEE_MACHINE = """mount -n -t proc lab /proc
mount -n --bind "/proc/$0/cgroup" /proc/1/cgroup
mount -n -t tracefs lab /sys/kernel/tracing
SYSTEMCTL_FORCE_BUS=1 exec "$@"
"""
