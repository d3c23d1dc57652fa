#!/usr/bin/env bash
# Brings up a one-node Slurm from Debian's packages (root needed) and runs the test of the Slurm profile on it.
set -euo pipefail
cd "$(dirname "$0")/../.."
PYTHON=${PYTHON:-$PWD/.venv/bin/python}
[ "$(id -u)" = 0 ] || { echo "skipped: starting Slurm needs root"; exit 77; }
command -v apt-get >/dev/null || { echo "skipped: needs Debian's packages"; exit 77; }

if ! sinfo -h >/dev/null 2>&1; then
  dpkg -s slurm-wlm munge >/dev/null 2>&1 || { apt-get -qq update; apt-get -qq install -y --no-install-recommends slurm-wlm munge; }
  HOST=$(hostname -s 2>/dev/null || cat /proc/sys/kernel/hostname); HOST=${HOST%%.*}
  MEMORY=$(awk '/MemTotal/{print int($2/1024*0.8)}' /proc/meminfo)
  STATE=/var/spool/slurm-soden  # its own: Slurm refuses the state of a cluster with another name
  mkdir -p /etc/slurm $STATE/ctld $STATE/d /var/log/slurm /run/munge /var/log/munge /var/lib/munge
  grep -qw "$HOST" /etc/hosts || echo "127.0.0.1 $HOST" >> /etc/hosts
  # No accounting daemon: the profile asks squeue, so ended jobs must be remembered for a while (MinJobAge).
  cat > /etc/slurm/slurm.conf <<CONF
ClusterName=soden
SlurmctldHost=$HOST(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CryptoType=crypto/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
ReturnToService=2
StateSaveLocation=$STATE/ctld
SlurmdSpoolDir=$STATE/d
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
MinJobAge=3600
NodeName=$HOST NodeAddr=127.0.0.1 CPUs=$(nproc) RealMemory=$MEMORY State=UNKNOWN
PartitionName=main Nodes=$HOST Default=YES MaxTime=INFINITE State=UP
CONF
  touch /etc/slurm/cgroup.conf
  [ -f /etc/munge/munge.key ] || dd if=/dev/urandom bs=1 count=1024 of=/etc/munge/munge.key 2>/dev/null
  chown -R munge:munge /etc/munge /run/munge /var/log/munge /var/lib/munge; chmod 400 /etc/munge/munge.key
  pgrep -x munged >/dev/null || setpriv --reuid=munge --regid=munge --clear-groups /usr/sbin/munged
  pgrep -x slurmctld >/dev/null || slurmctld || { echo "slurmctld does not start: \`slurmctld -D\` says why"; exit 1; }
  pgrep -x slurmd >/dev/null || slurmd || { echo "slurmd does not start: \`slurmd -D\` says why"; exit 1; }
  for _ in $(seq 30); do sinfo -h -o %T 2>/dev/null | grep -qE 'idle|mixed|alloc' && break; sleep 0.5; done
fi
sinfo
exec "$PYTHON" -m pytest -q -n 0 tests/workflow/test_cluster.py -k slurm -m slow
