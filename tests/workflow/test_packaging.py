"""What is shipped and what it is built from: a wheel with the method alone, pins that follow from requirements.in."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from hashlib import sha256
from importlib.metadata import Distribution, distributions
from pathlib import Path
from types import ModuleType
from zipfile import ZipFile

import pytest
import yaml
from conftest import ROOT
from packaging.utils import canonicalize_name

import soden

TORCH = ["requirements-torch-cpu.txt", "requirements-torch-cuda.txt"]
FIT = """
import sys
from importlib.metadata import version
from importlib.util import find_spec

import numpy as np
import soden

assert find_spec("benchmarks") is None and find_spec("baselines") is None and find_spec("numba") is None
rng = np.random.default_rng(0)
X = rng.normal(size=(200, 2))
time = rng.exponential(np.exp(-2 * X[:, 0]))
model = soden.SODEN(max_epochs=20, lr=1e-2).fit(X, time, np.ones(200))
model.save("model.pt")
again = soden.SODEN.load("model.pt")
assert (again.predict_survival(X, [0.5, 1]) == model.predict_survival(X, [0.5, 1])).all()
assert model.score(X, time, np.ones(200)) > 0.75
print(soden.__file__, soden.__version__, version("soden"))
"""


def lock() -> ModuleType:
    spec = importlib.util.spec_from_file_location("lock", ROOT / ".ci" / "lock.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pins(*names: str) -> dict[str, str]:
    """name -> exact version, of files of requirements."""
    text = "\n".join((ROOT / name).read_text() for name in names)
    found = re.findall(r"^([A-Za-z0-9._-]+)==([^\s;]+)", text, re.MULTILINE)
    return {canonicalize_name(name): version for name, version in found}


def brought_along(names: Iterable[str]) -> dict[str, Distribution]:
    """The installed packages that these requirements need, themselves included."""
    installed = {canonicalize_name(dist.metadata["Name"]): dist for dist in distributions()}
    metadata = {name: {"requires_dist": dist.requires or ()} for name, dist in installed.items()}
    return {name: installed[name] for name in lock().closure(names, metadata)}


def test_every_pin_follows_from_a_direct_one() -> None:
    """By the installed packages' own metadata: nothing is missing, nothing is there that nobody needs."""
    tool = lock()
    direct = tool.groups((ROOT / "requirements.in").read_text())
    assert list(direct) == ["rules", "workflow", "dev"]
    run, dev = pins(tool.RUN), pins(tool.DEV)
    assert pins("requirements.in").items() <= (run | dev | pins(tool.CUDA)).items()
    spec = yaml.safe_load((ROOT / "environment.yml").read_text())
    conda = next(part["pip"] for part in spec["dependencies"] if isinstance(part, dict))
    rules, workflow, everything = (
        {name: d.version for name, d in brought_along(names).items() if not name.startswith(tool.OF_A_BUILD)}
        for names in (direct["rules"], direct["rules"] + direct["workflow"], pins("requirements.in"))
    )
    torch = {"torch": rules["torch"]}
    assert rules == {canonicalize_name(name): version for name, version in (pin.split("==") for pin in conda)} | torch
    assert workflow == run | torch
    assert everything == run | dev | torch
    assert not run.keys() & dev.keys()


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt", *TORCH])
def test_every_pin_is_a_wheel_with_a_hash(name: str) -> None:
    text = (ROOT / name).read_text()
    head, *locked = re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE)
    assert "\n--only-binary :all:\n" in head
    assert len(locked) == len(re.findall("==", text.replace("platform_system ==", "")))
    for pin in locked:
        assert re.fullmatch(
            r"[\w.-]+==\S+( ; platform_system == \"\w+\")?( \\\n    --hash=sha256:[0-9a-f]{64})+\n", pin
        ), pin


def test_only_wheels_without_a_registry_are_kept_here() -> None:
    """What `.ci/wheels` holds is what its list of source archives names, and is what the pins' hashes ask for."""
    sources = pins(".ci/wheels/sources.txt")
    wheels = {path.name: sha256(path.read_bytes()).hexdigest() for path in (ROOT / ".ci" / "wheels").glob("*.whl")}
    assert set(wheels) == {f"{name.replace('-', '_')}-{version}-py3-none-any.whl" for name, version in sources.items()}
    for name, digest in wheels.items():
        assert digest in (ROOT / "requirements.txt").read_text() + (ROOT / "requirements-dev.txt").read_text(), name


@pytest.mark.slow
def test_the_command_gives_the_same_bytes_again(tmp_path: Path) -> None:
    run_or_skip([sys.executable, str(ROOT / ".ci" / "lock.py"), "--out", str(tmp_path)], tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "requirements.txt",
        "requirements-dev.txt",
        *TORCH,
        "environment.yml",
    }
    for path in tmp_path.iterdir():
        assert path.read_text() == (ROOT / path.name).read_text()


@pytest.mark.slow
def test_the_kept_wheels_are_built_to_the_same_bytes(tmp_path: Path) -> None:
    run_or_skip([str(ROOT / ".ci" / "wheels" / "build.sh"), str(tmp_path)], tmp_path)
    built = {path.name: path.read_bytes() for path in tmp_path.glob("*.whl")}
    assert built == {path.name: path.read_bytes() for path in (ROOT / ".ci" / "wheels").glob("*.whl")}


def run_or_skip(command: list[str], folder: Path) -> None:
    """Run what needs a package registry; skip the test where none answers."""
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    if done.returncode and re.search("resolve host|No matching distribution|timed out|urlopen error", done.stderr):
        pytest.skip(f"no package registry: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stderr


def test_a_pin_that_nobody_has_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "requirements.in").write_text("soden-no-such-package==1.0\n")
    tool = lock()
    with pytest.raises(SystemExit, match=r"could not resolve requirements.in; nothing was written:\n.*no-such-package"):
        tool.resolve(tool.index(), tmp_path, upgrade=True)


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({"PYTHON": "without/python3.11"}, "python3.11-venv is missing, .* on Debian: apt install python3.11-venv"),
        (
            {"PYTHON": "python9.9"},
            "python9.9 is missing; install it, or name another Python 3.11: make setup PYTHON=PATH",
        ),
        ({"TORCH": "tpu"}, "got TORCH=tpu; wanted cpu or cuda"),
    ],
)
def test_what_a_bare_machine_lacks_is_said_in_one_line(environ: dict[str, str], said: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / ".ci", tmp_path / ".ci")
    for path in ROOT.glob("requirements*.txt"):
        shutil.copy(path, tmp_path)
    (tmp_path / "without").mkdir()
    (tmp_path / "without" / "python3.11").write_text("#!/bin/sh\nexit 1\n")  # no module can be imported
    (tmp_path / "without" / "python3.11").chmod(0o755)
    done = subprocess.run([".ci/setup", "run"], cwd=tmp_path, capture_output=True, text=True, env=os.environ | environ)
    assert done.returncode == 1
    assert re.fullmatch(said + "\n", done.stderr)


def build(out: Path, **environ: str) -> list[Path]:
    """The wheel and the source archive."""
    command = [sys.executable, str(ROOT / ".ci" / "dist.py"), "--out", str(out)]
    subprocess.run(command, check=True, capture_output=True, env=os.environ | environ, cwd=out.parent)
    return sorted(out.iterdir())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    [wheel, _] = build(tmp_path_factory.mktemp("wheel") / "dist")
    return wheel


def test_two_builds_are_the_same_bytes(wheel: Path, tmp_path: Path) -> None:
    """Also with another umask, another time zone and another order of sets; and the archive gives the same wheel."""
    umask = os.umask(0o077)
    try:
        again = build(tmp_path / "dist", PYTHONHASHSEED="7", TZ="Asia/Tokyo")
    finally:
        os.umask(umask)
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in sorted(wheel.parent.iterdir())]
    shutil.unpack_archive(again[1], tmp_path / "unpacked")
    [source] = (tmp_path / "unpacked").iterdir()
    assert {path.name for path in source.iterdir() if path.suffix != ".egg-info"} == {
        *("LICENSE", "NOTICE", "PKG-INFO", "README.md", "pyproject.toml", "setup.cfg", "soden")
    }
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*command, "--wheel-dir", str(tmp_path), str(source)], check=True)
    with ZipFile(tmp_path / wheel.name) as one, ZipFile(wheel) as two:
        assert {name: one.read(name) for name in one.namelist()} == {name: two.read(name) for name in two.namelist()}


def test_the_wheel_holds_the_method_alone(wheel: Path) -> None:
    with ZipFile(wheel) as file:
        names = file.namelist()
        about = file.read(f"soden-{soden.__version__}.dist-info/METADATA").decode()
    tops = {name.split("/")[0] for name in names}
    assert tops == {"soden", f"soden-{soden.__version__}.dist-info"}
    here = {path.relative_to(ROOT).as_posix() for path in (ROOT / "soden").rglob("*.py")}
    assert {name for name in names if name.startswith("soden/")} == {*here, "soden/py.typed"}
    needs = re.findall(r"^Requires-Dist: (.*)$", about, re.MULTILINE)
    assert [need for need in needs if "extra" not in need] == ["numpy>=1.26", "torch>=2.4"]
    assert re.findall(r"^Provides-Extra: (.*)$", about, re.MULTILINE) == ["speed", "adjoint", "sklearn", "plot"]


@pytest.mark.slow
def test_the_wheel_fits_a_model_with_torch_and_numpy_alone(wheel: Path, tmp_path: Path) -> None:
    """In an environment that holds the wheel, torch, numpy and what those two need; shared, since torch is large."""
    environment, elsewhere = tmp_path / "environment", tmp_path / "elsewhere"
    elsewhere.mkdir()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    [packages] = environment.glob("lib/python*/site-packages")
    for dist in brought_along(["torch", "numpy"]).values():
        for top in {file.parts[0] for file in dist.files or () if file.parts[0] not in ("..", "__pycache__")}:
            if not (packages / top).exists():  # the parts of torch's CUDA build share one folder
                (packages / top).symlink_to(Path(str(dist.locate_file(top))))
    python = environment / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--quiet", "--no-index", str(wheel)], check=True)
    subprocess.run([*pip, "check"], check=True)
    done = subprocess.run([str(python), "-I", "-c", FIT], capture_output=True, text=True, cwd=elsewhere)
    assert done.returncode == 0, done.stderr
    file, *versions = done.stdout.split()
    assert Path(file).is_relative_to(packages.resolve())
    assert versions == [soden.__version__] * 2
