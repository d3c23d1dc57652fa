"""Keep a finished run in the repository: renew it, prove changed code, pack its models."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from benchmarks import ROOT
from benchmarks.commands._arguments import a_model, positive, run_sub_verb, sub_verbs
from benchmarks.results import KEPT_RUNS
from benchmarks.results.folder import find_run, kept_runs, read_trials

run = run_sub_verb


def add_arguments(parser: ArgumentParser) -> None:
    """What is done with the reference."""
    parts = {"renew": (_renew, renew), "adopt": (_adopt, adopt), "pack": (_pack, pack), "seal": (_seal, seal)}
    sub_verbs(parser, parts)


def _run(parser: ArgumentParser, what: str, default: str | None = None) -> None:
    parser.add_argument("--run", dest="name", default=default, required=default is None, help=what)
    parser.add_argument("--directory", type=Path, default=ROOT, help="where results/ and figures/ are")


def _renew(parser: ArgumentParser) -> None:
    _run(parser, "name or folder of a finished run")
    parser.add_argument("--as", dest="kept", choices=KEPT_RUNS, default="reference", help="which one it replaces")


def _adopt(parser: ArgumentParser) -> None:
    _run(parser, "name or folder of a run", "reference")
    parser.add_argument("--n", type=positive, default=50, help="rows of each touched model that are run again")
    parser.add_argument("--models", nargs="+", type=a_model, default=(), help="only these")
    parser.add_argument("--jobs", type=positive, default=1, help="processes")


def _pack(parser: ArgumentParser) -> None:
    _run(parser, "name or folder of a run that has fitted the reference's chosen models: verify")


def _seal(parser: ArgumentParser) -> None:
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a manifest does not fit")


def renew(args: Namespace) -> int:
    """Replace a kept run, the reference or beyond, by a finished run; only its small files and aggregates are kept."""
    from benchmarks.study.reference import renew, renew_figures

    folder, target = find_run(args.name, args.directory / "results").resolve(), ROOT / "results" / args.kept
    if folder == target:
        raise ValueError(f"{args.kept} cannot be renewed from itself; name another run")
    written = renew(folder, target)
    drawn = renew_figures(folder.parents[1] / "figures" / folder.name, ROOT / "figures" / args.kept)
    size = sum(path.stat().st_size for path in [*written, *drawn]) / 2**20
    print(f"{args.kept} is now {folder.name}: {len(written)} files and {len(drawn)} of figures, {size:.1f} MB")
    return 0


def adopt(args: Namespace) -> int:
    """Prove that changed code gives the trials of a run again, so that they count as its own.

    Random trials of every model whose code changed are run again. If all are the same to the last bit, `codes.json` in
    the run's folder says which code was proven equal to which, when, and on which trials; if one differs, nothing is
    written.
    """
    from benchmarks.study.reference import adopt

    folder = find_run(args.name, args.directory / "results")
    return 0 if adopt(folder, read_trials(folder), args.n, args.models, args.jobs) else 1


def pack(args: Namespace) -> int:
    """Put the reference's chosen models, as a run such as `verify` fitted them, into one small file."""
    from benchmarks.study.reference import pack
    from benchmarks.study.verify import FILE

    kept = find_run("reference", args.directory / "results")
    n = pack(find_run(args.name, args.directory / "results"), kept)
    print(f"{n} models in {kept / FILE}, {(kept / FILE).stat().st_size / 1e6:.1f} MB")
    return 0


def seal(args: Namespace) -> int:
    """Write the manifests of all kept runs, the sha256 of each file, after one was changed on purpose."""
    from benchmarks.study.stored import manifest_differences, write_manifest

    texts = [f"{run.name}: {text}" for run in kept_runs() for text in manifest_differences(run)]
    print("\n".join([*texts, f"{len(texts)} files differ from the manifests of the kept runs"]))
    if args.check:
        return 1 if texts else 0
    for run in kept_runs():
        write_manifest(run)
    return 0
