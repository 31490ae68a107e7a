#!/bin/sh
# Are there many zombie memory cgroups on this node? A plug-in for node-problem-detector.
#
#   check-memory-cgroups.sh MOST [ROOT]
#
# Exit: 0 fewer than MOST, 1 as many or more, 2 it cannot be told. One line of 80 characters or fewer on stdout.
# ROOT is where the host's /sys/fs/cgroup is mounted: /host for /host/sys/fs/cgroup; without it, /.
#
# A removed memory cgroup stays in the kernel until the last page charged to it is gone. It has no directory.
#   cgroup v1   tracked (/proc/cgroups, which is not namespaced) minus directories
#   cgroup v2   the kernel's own count in cgroup.stat: of memory since Linux 6.12, of all controllers before
# Needs sh, ls, find and grep. Says neither who left them nor why.

unknown() {
  echo "zombie memory cgroups cannot be counted: $1"
  exit 2
}

# In a cgroup namespace only a part is visible, and the difference would be invented. The real root has inode 1.
must_be_whole() {
  inode=$(ls -di "$1" 2>/dev/null) || unknown "cannot read cgroups"
  inode=${inode#"${inode%%[! ]*}"}
  [ "${inode%% *}" = 1 ] || unknown "mount the host's cgroups"
}

count_v1() {
  must_be_whole "$1"
  listing=$(LC_ALL=C find "$1" -type d 2>&1)
  # One that is removed meanwhile is no harm; one that cannot be looked into is.
  if printf '%s\n' "$listing" | grep -v 'No such file' | grep -q '^find:'; then unknown "cannot list them"; fi
  in_use=$(printf '%s\n' "$listing" | grep -c '^/')
  # The two are not counted in one instant.
  if [ "$tracked" -gt "$in_use" ]; then zombies=$((tracked - in_use)); else zombies=0; fi
}

count_v2() {
  must_be_whole "$1"
  zombies=
  while read -r name value; do
    case $name in
      nr_dying_subsys_memory) zombies=$value && break ;;
      nr_dying_descendants) zombies=$value ;;
    esac
  done <"$1/cgroup.stat"
  [ -n "$zombies" ] || unknown "cgroup.stat has no count"
}

# Whether memory is a controller of that hierarchy of cgroup v2.
has_memory() {
  [ -r "$1/cgroup.controllers" ] && grep -qw memory "$1/cgroup.controllers"
}

most=$1
case $most in '' | *[!0-9]*) unknown "say how many are too many" ;; esac
cgroups=${2%/}/sys/fs/cgroup

# The hierarchy's number is 0 where memory is on cgroup v2; newer kernels leave out the row altogether.
tracked=0
hierarchy=0
while read -r name number count _; do
  if [ "$name" = memory ]; then hierarchy=$number tracked=$count; fi
done </proc/cgroups

if has_memory "$cgroups"; then
  count_v2 "$cgroups"
elif has_memory "$cgroups/unified"; then
  count_v2 "$cgroups/unified"
elif [ "$hierarchy" -gt 0 ] && [ -e "$cgroups/memory/memory.stat" ]; then
  count_v1 "$cgroups/memory"
else
  unknown "no memory hierarchy found"
fi

if [ "$zombies" -ge "$most" ]; then
  echo "$zombies zombie memory cgroups (limit $most)"
  exit 1
fi
echo "$zombies zombie memory cgroups"
