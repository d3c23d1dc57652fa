"""requirements.in -> the files of pins, by pip's own resolver: `make lock`.

| file | holds |
|---|---|
| requirements.txt | what a run needs but torch: groups `rules` and `workflow`, every wheel's sha256 |
| requirements-dev.txt | what tests, checks and the documentation need beyond it: group `dev` |
| requirements-torch-cpu.txt | torch's CPU build, from torch's own index |
| requirements-torch-cuda.txt | torch as the package registry has it, with the CUDA packages it brings along |
| environment.yml | group `rules` for `snakemake --use-conda` |

What the direct pins bring along stays where it is pinned now, so the same input gives the same bytes on any day;
`--upgrade` lets all of that move. Configured folders of wheels are passed over, so the result does not depend on this
machine. No package's code is run: everything has a wheel, three of them built by `.ci/wheels/build.sh`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from urllib.request import urlopen

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename
from pip._internal.models.index import PyPI

ROOT = Path(__file__).resolve().parents[1]
WHEELS = ".ci/wheels"
RUN, DEV, CPU, CUDA = (f"requirements{part}.txt" for part in ("", "-dev", "-torch-cpu", "-torch-cuda"))
# What torch's CUDA build brings along, and its CPU build does not.
OF_A_BUILD = ("nvidia-", "cuda-", "triton")
# Linux with glibc and macOS, on the two kinds of processors that all pins have wheels for.
PLATFORM = re.compile(r"any|manylinux.*_(x86_64|aarch64)|macosx_.*_(x86_64|arm64|universal2)")
OPTIONS = f"--only-binary :all:\n--find-links {WHEELS}\n"
WRITTEN = "# `make lock` writes this file from requirements.in. "
HEADS = {
    RUN: WRITTEN + "What a run needs, but torch, which comes first: requirements-torch-*.txt.\n" + OPTIONS,
    DEV: WRITTEN + "What tests, checks and docs need beyond requirements.txt.\n" + OPTIONS,
    CUDA: WRITTEN + "torch with CUDA, several GB, for Linux. `make setup TORCH=cuda` takes it.\n" + OPTIONS,
}
ENVIRONMENT = """\
# The conda environment that `snakemake --use-conda` builds: what rules need. `make lock` writes it with the pins of
# requirements.txt; pip installs them inside it, so that both ways of setting up run the very same packages.
# Of torch a registry has the CUDA build for Linux, so a GPU node needs nothing else; without a GPU it works as well.
name: soden
channels:
  - conda-forge
  - nodefaults
dependencies:
  - python=3.11
  - pip
  - pip:
"""

Metadata = Mapping[str, Mapping[str, Any]]


def groups(text: str) -> dict[str, list[str]]:
    """The direct pins by group; `# [name]` begins a group."""
    direct: dict[str, list[str]] = {}
    for line in text.splitlines():
        if start := re.match(r"# \[(\w+)\]", line):
            direct[start[1]] = lines = []
        elif line and not line.startswith("#"):
            lines.append(line)
    return direct


def pinned(root: Path = ROOT) -> list[str]:
    """`name==version` of everything that is pinned now, whatever its file."""
    lines = [line for name in (RUN, DEV, CUDA) if (root / name).is_file() for line in (root / name).open()]
    return [line.split()[0] for line in lines if re.match(r"[A-Za-z0-9]", line)]


def resolve(registry: str, root: Path = ROOT, upgrade: bool = False) -> dict[str, dict[str, Any]]:
    """The metadata of everything that requirements.in needs, by name, as a plain registry has it."""
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--report", "-", "--quiet"]
    command += ["--disable-pip-version-check", "--only-binary", ":all:", "--find-links", str(ROOT / WHEELS)]
    command += ["--index-url", registry, "-r", str(root / "requirements.in")]
    environ = os.environ | {"PIP_CONFIG_FILE": os.devnull, "PIP_FIND_LINKS": ""}
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as constraints:
        if not upgrade:
            constraints.write("\n".join(pinned(root)))
            constraints.flush()
            command += ["-c", constraints.name]
        done = subprocess.run(command, capture_output=True, text=True, env=environ)
    if done.returncode:
        raise SystemExit(f"pip could not resolve requirements.in; nothing was written:\n{done.stderr.strip()}")
    found = [item["metadata"] for item in json.loads(done.stdout)["install"]]
    return {canonicalize_name(metadata["name"]): metadata for metadata in found}


def index() -> str:
    """The package registry that pip asks here."""
    command = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    configured = (
        os.environ.get("PIP_INDEX_URL") or subprocess.run(command, capture_output=True, text=True).stdout.strip()
    )
    return configured or str(PyPI.simple_url)


def closure(direct: Iterable[str], metadata: Metadata) -> set[str]:
    """The names of these requirements and of everything they bring along."""
    waiting = [Requirement(line) for line in direct]
    done: set[tuple[str, str]] = set()
    while waiting:
        need = waiting.pop()
        name = canonicalize_name(need.name)
        for extra in ("", *need.extras):
            if (name, extra) not in done:
                done.add((name, extra))
                further = [Requirement(text) for text in metadata[name].get("requires_dist", ())]
                waiting += [r for r in further if r.marker is None or r.marker.evaluate({"extra": extra})]
    return {name for name, _ in done}


def fits(wheel: str, platform: str = "") -> bool:
    """True if CPython 3.11 can install this wheel on one of the platforms, or on those that begin with `platform`."""
    return any(
        PLATFORM.fullmatch(tag.platform)
        and tag.platform.startswith(platform)
        and (
            tag.interpreter in ("py3", "py311", "cp311")
            or (tag.abi == "abi3" and int(tag.interpreter.removeprefix("cp3")) <= 11)
        )
        for tag in parse_wheel_filename(wheel)[3]
    )


def hashes(name: str, version: str, registry: str, platform: str = "") -> list[str]:
    """The sha256 of every wheel of this version that fits: the one built here, else what the registry has."""
    built = (ROOT / WHEELS).glob(f"{name.replace('-', '_')}-{version}-*.whl")
    digests = [hashlib.sha256(wheel.read_bytes()).hexdigest() for wheel in built]
    if not digests:
        with urlopen(f"{registry.rstrip('/')}/{name}/", timeout=60) as page:
            links = re.findall(r'href="[^"]*/([^"/#]+\.whl)#sha256=([0-9a-f]{64})"', page.read().decode())
        wheels = {unquote(file): digest for file, digest in links}
        digests = [digest for file, digest in wheels.items() if f"-{version}-" in file and fits(file, platform)]
    if not digests:
        raise SystemExit(f"{name}=={version} has no wheel for Python 3.11; nothing was written")
    return sorted(digests)


def locked(pin: str, digests: Iterable[str]) -> str:
    """One pin with its hashes."""
    return " \\\n    ".join([pin, *(f"--hash=sha256:{digest}" for digest in digests)]) + "\n"


def pins(names: Iterable[str], metadata: Metadata) -> list[str]:
    """`name==version` of each."""
    return [f"{metadata[name]['name']}=={metadata[name]['version']}" for name in sorted(names)]


def torch_cpu(text: str, version: str, registry: str) -> str:
    """requirements-torch-cpu.txt: the head of `text`, the pins, and hashes from torch's index if the version moved.

    torch's index is asked only then, so that the other pins can be locked where it does not answer.
    """
    head, _, rest = text.partition("torch==")
    if rest.startswith(f"{version}+cpu"):
        linux = re.findall(r"sha256:([0-9a-f]{64})", rest.partition("torch==")[0])
    else:
        linux = hashes("torch", f"{version}+cpu", re.findall(r"--extra-index-url (\S+)", head)[0])
    mac = hashes("torch", version, registry, "macosx")
    return (
        head
        + locked(f'torch=={version}+cpu ; platform_system == "Linux"', linux)
        + locked(f'torch=={version} ; platform_system == "Darwin"', mac)
    )


def environment(lines: Iterable[str]) -> str:
    """The text of environment.yml."""
    return ENVIRONMENT + "".join(f"      - {line}\n" for line in lines)


def files(root: Path = ROOT, upgrade: bool = False) -> dict[str, str]:
    """Name -> text of every file that follows from requirements.in."""
    registry = index()
    metadata = resolve(registry, root, upgrade)
    direct = groups((root / "requirements.in").read_text())
    rules = closure(direct["rules"], metadata)
    run = rules | closure(direct["workflow"], metadata)
    cuda = {"torch", *(name for name in metadata if name.startswith(OF_A_BUILD))}
    parts = {RUN: run - cuda, DEV: set(metadata) - run, CUDA: cuda}
    texts = {}
    for file, names in parts.items():
        digests = [hashes(name, metadata[name]["version"], registry) for name in sorted(names)]
        texts[file] = HEADS[file] + "".join(map(locked, pins(names, metadata), digests))
    texts[CPU] = torch_cpu((ROOT / CPU).read_text(), metadata["torch"]["version"], registry)
    texts["environment.yml"] = environment(pins(rules - (cuda - {"torch"}), metadata))
    return texts


def main() -> None:
    """Resolve, then write all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--upgrade", action="store_true", help="take the newest of what the direct pins bring along")
    parser.add_argument("--out", type=Path, default=ROOT, help="folder to write to; default: this clone")
    args = parser.parse_args()
    for name, text in files(upgrade=args.upgrade).items():
        (args.out / name).write_text(text)
        print(f"{name}: {len(re.findall('==', text))} pins")


if __name__ == "__main__":
    main()
