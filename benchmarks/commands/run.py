"""Run a tier from start to report with Snakemake; after a kill or a power cut the same command goes on where it was."""

from __future__ import annotations

import argparse
import fcntl
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from benchmarks.study import journal, status
from benchmarks.study.config import ROOT, TIERS, ConfigError, resolve

if TYPE_CHECKING:
    from rich.console import Console


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("tier", nargs="?", choices=TIERS, default="quick")
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--directory", type=Path, default=ROOT, help="where results/ and figures/ go")
    parser.add_argument("--configfile", type=Path, help="your own overlay on top of the tier")
    parser.add_argument("--targets", nargs="+", default=[], metavar="RULE", help="stop there, e.g. scores or tables")
    parser.add_argument("--fresh", nargs="+", default=[], metavar="MODEL", help="throw these models' rows away first")
    parser.add_argument("--keep-failed", action="store_true", help="go on with trials that raised an error as rows")


def run(args: argparse.Namespace) -> int:
    """Check, lock, say what is to be done, start Snakemake, show progress, say what was made."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)  # a path or a log line must stay in one piece
    overlay = _overlay(args.configfile) | {"tier": args.tier}
    if args.keep_failed:
        overlay["keep_failed"] = True
    try:
        config = resolve(overlay)
        _check_device(config["device"])
        results = args.directory.resolve() / "results" / config["run"]
        with _lock(results):
            _release_stale_lock(args.directory.resolve(), console)
            _throw_away(results, args.fresh, config)
            _forget_failed(results)
            _announce(results, config, console)
            return _snakemake(args, config, results, console)
    except (ConfigError, RunError) as error:
        console.print(str(error), style="red", markup=False)
        return 2


class RunError(RuntimeError):
    """The run cannot start; the text says what to do."""


def _overlay(path: Path | None) -> dict[str, Any]:
    from benchmarks.study.config import read

    return {} if path is None else read(path)


def _check_device(name: str) -> None:
    """Stop before any trial where a GPU is asked for and none is here; torch is loaded only to find out."""
    if name.startswith("cuda"):
        from benchmarks.study.tune import device_type

        try:
            device_type(name)
        except ValueError as error:
            raise RunError(str(error)) from None


def _throw_away(results: Path, models: Sequence[str], config: Mapping[str, Any]) -> None:
    """`--fresh`: the rows and states of these models, on all data sets of this run."""
    for name in models:
        if name not in config["models"]:
            raise RunError(f"--fresh {name}: not a model of this run; choose among {', '.join(config['models'])}")
        if config["known"]:
            raise RunError(f"--fresh {name}: its rows would come back from known: {config['known']}; set known to ''")
        for folder in results.glob(f"trials/*/{name}"):
            shutil.rmtree(folder)


def _forget_failed(results: Path) -> None:
    """Tables with failed trials are made again, which runs these trials again; a journal line costs nothing."""
    for path in results.glob("trials/*/*/*.jsonl"):
        if b'"status": "failed"' not in path.read_bytes():
            continue
        last = {(row["split"], row["trial"]): row["status"] for row in journal.read(path)}
        if "failed" in last.values():
            path.with_suffix(".parquet").unlink(missing_ok=True)


def _announce(results: Path, config: Mapping[str, Any], console: Console) -> None:
    """How many rows will be made and why; of a run that begins with nothing there is nothing to say."""
    if not config["known"] and not any(results.glob("trials/*/*/*.jsonl")):
        return
    from benchmarks.study.preview import preview, sentences

    for line in sentences(preview(results, config, status.available(results, config)), config["known"]):
        console.print(line)


def _lock(results: Path) -> IO[str]:
    """Hold the results folder; the system lets go of it when this process ends, however it ends."""
    try:
        results.mkdir(parents=True, exist_ok=True)
        file = (results / ".lock").open("w")
    except OSError as error:
        raise RunError(
            f"cannot write to {results} ({error.strerror}); make it writable or choose another `run`"
        ) from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RunError(
            f"another run is working in {results}; follow it with `python -m benchmarks status {results.name}`, "
            "or give this one another name with `run:` in the configuration"
        ) from None
    return file


def _release_stale_lock(directory: Path, console: Console) -> None:
    """Snakemake's own lock outlives a kill -9. If no Snakemake works in this folder, the lock is a dead one's."""
    import psutil

    locks = directory / ".snakemake" / "locks"
    if not locks.is_dir() or not any(locks.iterdir()):
        return
    for process in psutil.process_iter(["cmdline", "cwd", "pid"]):
        words = process.info["cmdline"] or []
        if any(word.endswith("snakemake") for word in words[:3]) and process.info["cwd"] == str(directory):
            raise RunError(
                f"Snakemake is already at work in this folder (process {process.info['pid']}); wait for it or stop it"
            )
    console.print("Releasing the lock of a run that was killed; finished trials are kept.")
    unlock = [sys.executable, "-m", "snakemake", "--unlock", "--directory", str(directory)]
    subprocess.run(unlock, cwd=ROOT, check=True, capture_output=True)


def _snakemake(args: argparse.Namespace, config: Mapping[str, Any], results: Path, console: Console) -> int:
    from benchmarks.study.cost import expected_seconds

    log = results / "snakemake.log"
    command = [sys.executable, "-m", "snakemake", "--cores", str(args.cores), "--rerun-incomplete", "--keep-going"]
    command += ["--directory", str(args.directory.resolve())]
    if args.configfile:
        command += ["--configfile", str(args.configfile.resolve())]
    command += ["--config", f"tier={args.tier}", *(["keep_failed=True"] if args.keep_failed else [])]
    command += ["--", *args.targets]
    console.print(f"Tier {args.tier} on {args.cores} cores; results in {_short(results)}/, log in {log.name}.")
    started = time.monotonic()
    watch = status.Watch(results, config, expected_seconds(config))
    with log.open("w") as out:
        process = subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        try:
            _follow(process, watch, args.cores, console)
        except KeyboardInterrupt:
            console.print("Stopping; what is finished is kept, the same command goes on from here.")
            process.wait()
            return 130
    seconds = time.monotonic() - started
    failed = sum(entry.failed for entry in watch.entries())
    if process.returncode:
        _explain(log, results, console)
        if failed:
            console.print(
                f"{failed} trials failed; the same command tries them again, --keep-failed goes on with them as rows."
            )
        return 1
    _conclude(config, results, watch, seconds, console)
    return 0


def _follow(process: subprocess.Popen[bytes], watch: status.Watch, cores: int, console: Console) -> None:
    """One live line on a terminal; elsewhere a line whenever a tenth of the trials is done."""
    shown = -1
    with console.status("starting") as live:
        while process.poll() is None:
            time.sleep(1)
            entries = watch.entries()
            done, total = sum(e.done for e in entries), sum(e.total for e in entries)
            text = status.headline(entries, cores)
            live.update(text if done < total else f"{text}; scoring, tables and figures")
            for row in watch.first_failures():
                where = f"{row['model']} on {row['dataset']}, split {row['split']}, trial {row['trial']}"
                console.print(f"  {where} failed: {row['message']}", style="red", markup=False)
            if not console.is_terminal and 10 * done // max(total, 1) > shown:
                shown = 10 * done // max(total, 1)
                console.print(f"  {text}")


def _explain(log: Path, results: Path, console: Console) -> None:
    """What failed, the end of its log, and what to do."""
    console.print("The run did not finish; finished work is kept and the same command goes on from here.", style="red")
    text = log.read_text()
    failed = dict.fromkeys(re.findall(r"log: (\S+) \(check", text))  # Snakemake names the logs of failed jobs so
    logs = [path for name in failed if (path := results.parents[1] / name).exists()]
    for path in logs[:3]:
        console.print(f"\n{_short(path)} ends with:", style="bold")
        console.print("\n".join(path.read_text().splitlines()[-12:]), markup=False)
    if not logs:
        console.print("\n".join(text.splitlines()[-25:]), markup=False)
    console.print(f"\nSnakemake's log: {_short(log)}")


def _conclude(config: Mapping[str, Any], results: Path, watch: status.Watch, seconds: float, console: Console) -> None:
    console.print(f"Done in {status.duration(seconds)}: {status.headline(watch.entries())}.")
    for missing in status.missing(results, config):
        console.print(f"  without {missing}", style="yellow")
    for what, where in (
        ("scores, t-tests, cells", "scores.csv tests.csv cells.csv"),
        ("LaTeX tables", "tables"),
        ("report", "report.html"),
    ):
        found = [_short(results / name) for name in where.split() if (results / name).exists()]
        if found:
            console.print(f"  {what}: {' '.join(found)}")
    figures = results.parents[1] / "figures" / config["run"]
    if figures.is_dir():
        console.print(f"  figures: {_short(figures)}")


def _short(path: Path) -> str:
    """As a person in the current folder would type it."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
