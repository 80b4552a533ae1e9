#!/bin/sh
# Starts Slurm with several nodes on this machine alone: no systemd, no cgroups, no database. For tests.
#
# Usage: start.sh DIR [NODES]; then `export SLURM_CONF=DIR/slurm.conf`. `stop.sh DIR` ends it. Needs root and the Debian packages
# munge slurmctld slurmd slurm-client slurm-wlm-basic-plugins.
set -eu
mkdir -p "$1"
dir=$(cd "$1" && pwd)
nodes=${2:-4}
host=$(hostname)
mkdir -p "$dir/state" "$dir/log" /run/munge /var/log/munge
[ -f /etc/munge/munge.key ] || mungekey --create
chown munge:munge /run/munge /var/log/munge /etc/munge/munge.key
pidof munged > /dev/null || runuser -u munge -- munged

# Daemons find each other by ports, which two clusters on one machine must not share.
base=$((20000 + $$ % 20000))

{
    echo "ClusterName=test"
    echo "SlurmctldHost=$host(127.0.0.1)"
    echo "SlurmctldPort=$base"
    echo "SlurmUser=root"
    echo "AuthType=auth/munge"
    # A requeued task begins again after the life of its credential, which is two minutes by default.
    echo "AuthInfo=cred_expire=5"
    echo "StateSaveLocation=$dir/state"
    echo "SlurmdSpoolDir=$dir/spool/%n"
    echo "SlurmctldPidFile=$dir/slurmctld.pid"
    echo "SlurmdPidFile=$dir/slurmd.%n.pid"
    echo "SlurmctldLogFile=$dir/log/slurmctld.log"
    echo "SlurmdLogFile=$dir/log/slurmd.%n.log"
    echo "ProctrackType=proctrack/linuxproc"
    echo "TaskPlugin=task/none"
    echo "MpiDefault=none"
    echo "JobAcctGatherType=jobacct_gather/none"
    echo "AccountingStorageType=accounting_storage/none"
    echo "JobCompType=jobcomp/filetxt"
    echo "JobCompLoc=$dir/log/completed.txt"
    echo "SelectType=select/cons_tres"
    echo "SelectTypeParameters=CR_Core"
    echo "SlurmdParameters=config_overrides"
    echo "SlurmdTimeout=20"
    echo "KillWait=5"
    echo "MinJobAge=3600"
    echo "ReturnToService=2"
    k=1
    while [ "$k" -le "$nodes" ]; do
        mkdir -p "$dir/spool/n$k"
        echo "NodeName=n$k NodeHostname=$host NodeAddr=127.0.0.1 Port=$((base + k)) CPUs=1 RealMemory=1000"
        k=$((k + 1))
    done
    echo "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP"
} > "$dir/slurm.conf"

export SLURM_CONF="$dir/slurm.conf"
slurmctld -f "$SLURM_CONF"
k=1
while [ "$k" -le "$nodes" ]; do
    slurmd -N "n$k" -f "$SLURM_CONF"
    k=$((k + 1))
done
tries=0
until [ "$(sinfo --noheader --Node --format=%T 2> /dev/null | grep -c '^idle')" = "$nodes" ]; do
    tries=$((tries + 1))
    [ "$tries" -le 300 ] || { echo "the nodes do not answer; see $dir/log" >&2; exit 1; }
    sleep 0.2
done
