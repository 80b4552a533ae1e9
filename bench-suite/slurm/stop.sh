#!/bin/sh
# Ends what `start.sh DIR` started, and running jobs with it.
set -u
dir=$(cd "$1" && pwd) || exit 1
SLURM_CONF="$dir/slurm.conf" scancel --quiet --user=root 2> /dev/null
sleep 1
for file in "$dir"/slurmd.*.pid "$dir"/slurmctld.pid; do
    if [ -f "$file" ]; then kill "$(cat "$file")" 2> /dev/null; fi
done
exit 0
