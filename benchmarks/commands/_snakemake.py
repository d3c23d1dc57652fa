"""Snakemake as `run` drives it: one at a time in a folder, followed at work, stopped with its jobs, explained."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import ROOT
from benchmarks.commands._errors import disk_is_full
from benchmarks.study import cost, lease, status

if TYPE_CHECKING:
    from rich.console import Console

PATIENCE = 20  # seconds that Snakemake and its jobs have to end by themselves
COMMAND = [sys.executable, "-m", "snakemake"]
# Why a job was killed, as shells, Snakemake and Slurm say it, and what to do.
KILLED = {
    r"\bKilled\b|exit status 137|SIGKILL": "was killed, probably because memory ran out: give fewer --cores",
    "'OUT_OF_MEMORY'": "was killed for using more memory than it had asked for: raise resources.mem_mb",
    "'TIMEOUT'": "was killed for taking longer than it had asked for: raise resources.runtime",
}
FULL = "No space left on device"  # as system and libraries write it into logs
FEW = 5_000_000  # bytes; with fewer left, a log that stayed empty has no other reason


class RunError(ValueError):
    """The run cannot start; the text says what to do."""


class Terminated(KeyboardInterrupt):
    """SIGTERM: stop as Ctrl-C does."""


def elsewhere(what: str) -> str:
    """Two runs in one folder share Snakemake's lock, so another name alone does not help."""
    return f"{what}; wait for it, or start this one in another folder with `--directory OTHER`"


def release_stale_lock(directory: Path, console: Console) -> None:
    """Snakemake's own lock outlives a kill -9; it is released only if its owner was on this machine and is dead."""
    import psutil

    locks = directory / ".snakemake" / "locks"
    if not locks.is_dir() or not any(locks.iterdir()):
        return
    owner = _owner(directory)
    if owner.get("machine") != lease.machine():  # whose processes cannot be seen from here
        who = f"on {owner['machine']} (process {owner['pid']})" if owner else "by a Snakemake that left no name"
        raise RunError(
            elsewhere(f"Snakemake's lock in {directory} was taken {who}; if no Snakemake works there, delete {locks}")
        )
    if psutil.pid_exists(owner["pid"]) and psutil.Process(owner["pid"]).create_time() == owner["started"]:
        raise RunError(elsewhere(f"Snakemake is already at work in {directory} (process {owner['pid']})"))
    console.print("Releasing the lock of a run that was killed; finished trials are kept.")
    _unlock(directory)


def _unlock(directory: Path) -> None:
    locks = directory / ".snakemake" / "locks"
    unlock = [*COMMAND, "--unlock", "--directory", str(directory)]
    done = subprocess.run(unlock, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        raise RunError(f"Snakemake's lock in {locks} cannot be released (it says: {said}); delete that folder")


def _owner(directory: Path) -> dict[str, Any]:
    """Whose lock it is, as `lease.own` wrote it; empty if nothing did."""
    try:
        found: dict[str, Any] = json.loads((directory / ".snakemake" / "owner.json").read_text())
    except (OSError, ValueError):
        return {}
    return found


def call(options: Sequence[str], directory: Path, log: Path, watch: status.Watch, cores: int, console: Console) -> int:
    """Snakemake's exit code; 130 or 143 if it was stopped, with its jobs, by Ctrl-C or SIGTERM."""
    with log.open("w") as out, _terminable():
        process = subprocess.Popen(
            [*COMMAND, *options], cwd=ROOT, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
        )
        lease.own(directory, process.pid)
        try:
            _follow(process, watch, log, cores, console)
        except KeyboardInterrupt as reason:
            console.print("Stopping; what is finished is kept, the same command goes on from here.")
            if not _stop(process):
                console.print(f"Snakemake did not end within {PATIENCE} s, so it was killed with its jobs.")
                _unlock(directory)
            return 143 if isinstance(reason, Terminated) else 130
    return process.returncode


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _stop(process: subprocess.Popen[bytes], patience: float = PATIENCE) -> bool:
    """End Snakemake and its jobs; False if they had to be killed.

    Snakemake begins no other job on SIGTERM, but waits for those it has: they are ended here, until all are gone. Now
    and then it hangs then (one stop in seven on a busy machine, without a job and deaf to SIGTERM): it is killed.
    """
    import psutil

    with contextlib.suppress(psutil.NoSuchProcess):
        process.terminate()
        deadline = time.monotonic() + patience
        while process.poll() is None and time.monotonic() < deadline:
            for job in psutil.Process(process.pid).children(recursive=True):
                with contextlib.suppress(psutil.NoSuchProcess):
                    job.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=1)
        if process.poll() is None:
            family = psutil.Process(process.pid)
            for one in (*family.children(recursive=True), family):
                with contextlib.suppress(psutil.NoSuchProcess):
                    one.kill()
            process.wait()
            return False
    process.wait()
    return True


def _follow(process: subprocess.Popen[bytes], watch: status.Watch, log: Path, cores: int, console: Console) -> None:
    """One live line on a terminal; elsewhere a line whenever a tenth is done: of the trials, or else of the steps."""
    shown, started = -1, time.monotonic()
    with console.status("starting") as live:
        while process.poll() is None:
            time.sleep(1)
            entries = watch.entries()
            done, total = sum(e.done for e in entries), sum(e.total for e in entries)
            if done + sum(e.waiting for e in entries) < total:
                text = status.headline(entries, cores)
            else:  # nothing is left to train: all trials are there or known, and what takes time are the other steps
                done, total = steps(log.read_text(errors="replace"))
                text = step_text(done, total, time.monotonic() - started)
            live.update(text)
            for trial in watch.first_failures():
                where = f"{trial.model} on {trial.dataset}, split {trial.split}, trial {trial.trial}"
                console.print(f"  {where} failed: {trial.message}", style="red", markup=False)
            if not console.is_terminal and 10 * done // max(total, 1) > shown:
                shown = 10 * done // max(total, 1)
                console.print(f"  {text}")


def steps(log: str) -> tuple[int, int]:
    """How many of its steps Snakemake has done, as it last said."""
    found = re.findall(r"^(\d+) of (\d+) steps", log, flags=re.MULTILINE)
    return (int(found[-1][0]), int(found[-1][1])) if found else (0, 0)


def step_text(done: int, total: int, seconds: float) -> str:
    """With the time left, if the steps to come take as long as those before them."""
    left = f", about {cost.duration(seconds / done * (total - done))} left" if 0 < done < total else ""
    return f"no trial left to run; {done} of {total} steps of fitting again, scoring, tables and figures{left}"


def explain(log: Path, results: Path, console: Console) -> None:
    """What failed, the end of its log, and what to do."""
    console.print("The run did not finish; finished work is kept and the same command goes on from here.", style="red")
    text = log.read_text(errors="replace")
    # Snakemake names the logs of failed jobs so, with those of the scheduler behind a comma.
    failed = dict.fromkeys(", ".join(re.findall(r"log: (.+) \(check", text)).split(", "))
    paths = [path for name in failed if (path := results.parents[1] / name).is_file()]
    logs = {path: path.read_text(errors="replace").strip() for path in paths}
    for path, tail in list(logs.items())[:3]:
        console.print(f"\n{short(path)} {'ends with:' if tail else 'is empty: its command said nothing'}", style="bold")
        console.print("\n".join(tail.splitlines()[-12:]), markup=False)
    if not any(logs.values()):
        console.print("\n".join(text.splitlines()[-25:]) or "Snakemake said nothing.", markup=False)
    for pattern, reason in KILLED.items():
        if re.search(pattern, text):
            console.print(f"\nA job {reason}.", style="red")
    full, everything = disk_is_full(results), "".join((text, *logs.values()))
    if FULL in everything or (not everything and shutil.disk_usage(results).free < FEW):
        console.print(f"\n{full[0].upper()}{full[1:]}.", style="red", markup=False)
    console.print(f"\nSnakemake's log: {short(log)}")


def short(path: Path) -> str:
    """As a person in the current folder would type it."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
