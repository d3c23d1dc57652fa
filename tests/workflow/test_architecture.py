"""The shape of the project: which package may import which."""

import ast
import re
import subprocess
from pathlib import Path
from tempfile import gettempdir

import pytest
from conftest import ROOT
from support.mutations import places, read_slips

from benchmarks.code import closure

PACKAGES = ("soden", "baselines", "benchmarks", "workflow")
# What each package may import of the project; imports go one way.
ALLOWED = {"soden": {"soden"}, "baselines": {"soden", "baselines"}, "benchmarks": {"soden", "baselines", "benchmarks"}}


def imported(path: Path) -> set[str]:
    """Full names of all modules a file imports, also inside functions."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("package", ALLOWED)
def test_imports_go_one_way(package: str) -> None:
    for path in (ROOT / package).rglob("*.py"):
        ours = {name.split(".")[0] for name in imported(path)} & set(PACKAGES)
        assert ours <= ALLOWED[package], f"{path} imports {ours - ALLOWED[package]}"


def test_no_python_imports_snakemake() -> None:
    for package in ALLOWED:
        for path in (ROOT / package).rglob("*.py"):
            assert not any(n.split(".")[0] == "snakemake" for n in imported(path)), path


# Rooms of benchmarks, and the rooms each must not reach, directly or through others.
CLOSED = {
    "benchmarks.results": ("benchmarks.study", "benchmarks.report", "benchmarks.commands", "baselines"),
    # The registry may be asked for labels, which it reads from the source; any model imported would reach the contract.
    "benchmarks.report": (
        "benchmarks.study",
        "benchmarks.commands",
        "baselines.contract",
        "soden.models",
        "soden.training",
    ),
    "benchmarks.study": ("benchmarks.report", "benchmarks.commands"),
    "benchmarks.data": ("benchmarks.study", "benchmarks.report", "benchmarks.commands", "benchmarks.results"),
    "benchmarks.metrics": ("benchmarks.study", "benchmarks.report", "benchmarks.commands", "benchmarks.data"),
}


@pytest.mark.parametrize("room", CLOSED)
def test_rooms_do_not_reach_those_above_them(room: str) -> None:
    """study -> results <- report: followed through every file they import, inside functions too."""
    start = [
        ".".join(path.with_suffix("").relative_to(ROOT).parts) for path in ROOT.joinpath(*room.split(".")).rglob("*.py")
    ]
    reached = {".".join(path.with_suffix("").relative_to(ROOT).parts) for path in closure(start)}
    for closed in CLOSED[room]:
        bad = {name for name in reached if name == closed or name.startswith(f"{closed}.")}
        assert not bad, f"{room} reaches {', '.join(sorted(bad))}"


def test_soden_needs_only_torch_and_numpy_at_import() -> None:
    import subprocess
    import sys

    code = "import sys; import soden; print(*sorted({m.split('.')[0] for m in sys.modules}))"
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout.split()
    for heavy in ("pandas", "sklearn", "lifelines", "sksurv", "pycox", "torchdiffeq", "matplotlib", "scipy"):
        assert heavy not in out, f"import soden loads {heavy}"


# What pages, schemas and loaders link to; a package registry, a mirror or a machine is none of them.
HOSTS = {
    *("arxiv.org", "example.org", "github.com", "json-schema.org", "physionet.org"),
    *("bioschemas.org", "codemeta.github.io", "doi.org", "schema.org", "spdx.org", "w3id.org"),  # vocabularies
    *("docs.mlcommons.org", "mlcommons.org", "purl.org"),  # and of Croissant
    *("opendatacommons.org", "raw.githubusercontent.com", "semver.org", "snakemake.github.io"),
    "download.pytorch.org",  # torch's own index, which alone has its CPU build
}


def test_no_file_names_a_package_host_or_a_home() -> None:
    """No address but those of HOSTS, no home folder, no path of the machine a file was written on."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    # The folder of the clone, or the clone itself where that is the folder for what is temporary, which tests may name.
    here = f"{ROOT if ROOT.parent == Path(gettempdir()) else ROOT.parent}/"
    wrong: dict[str, set[str]] = {}
    for name in filter(None, listed.stdout.split("\n")):
        content = (ROOT / name).read_bytes() if (ROOT / name).is_file() else b""
        if b"\0" in content[:8192]:
            continue
        text = content.decode(errors="ignore")
        found = set(re.findall(r"https?://([\w.-]*\w)", text)) - HOSTS
        found |= {home for home in re.findall(r"(?:/home|/root|/Users)/\w+", text) if home != "/home/somebody"}
        found |= {here} if len(here) > 2 and here in text else set()
        if found:
            wrong[name] = found
    assert wrong == {}


def test_every_slip_can_be_made() -> None:
    """The code a slip replaces stands once in its file: code that moved on takes its slip with it."""
    stale = {
        f"{s.file}: {s.what}": n for s in read_slips() if (n := len(places((ROOT / s.file).read_text(), s.old))) != 1
    }
    assert stale == {}
