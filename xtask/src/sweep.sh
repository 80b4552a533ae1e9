#!/bin/bash
#SBATCH --job-name=mcsa
#SBATCH --array=1-@SHARDS@
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=B:USR1@90
#SBATCH --output="@LOG@/%A-%a.txt"
set -u
# Before its time is over, a task saves its state and begins again.
again() {
    trap '' USR1
    kill -TERM "$child"
    wait "$child"
    scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
    exit 0
}
trap again USR1
cd @HERE@ || exit
export MCSA_DATA=@DATA@
threads=${SLURM_CPUS_PER_TASK:-1}
# In the background: bash runs a trap only between commands, hence `wait`.
@COMMAND@ --shard "$SLURM_ARRAY_TASK_ID/@SHARDS@" --no-draw --jobs @JOBS@ &
child=$!
wait "$child"
exit $?
