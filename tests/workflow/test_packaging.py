"""What is shipped and what it is built from: a wheel with the method alone, pins that follow from requirements.in."""

import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import Distribution, distributions
from pathlib import Path
from types import ModuleType
from zipfile import ZipFile

import pytest
import yaml
from conftest import ROOT
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import soden

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


def pins(name: str) -> dict[str, str]:
    """name -> exact version, of a file of requirements."""
    lines = [line for line in (ROOT / name).read_text().splitlines() if line and line[0] != "#"]
    found = dict(re.fullmatch(r"([A-Za-z0-9._-]+)==([^\s;]+)", line).groups() for line in lines)  # type: ignore[union-attr]
    return {canonicalize_name(name): version for name, version in found.items()}


def brought_along(names: Iterable[str]) -> dict[str, Distribution]:
    """The installed packages that these need, themselves included."""
    installed = {canonicalize_name(dist.metadata["Name"]): dist for dist in distributions()}
    found: dict[str, Distribution] = {}
    waiting = [(canonicalize_name(name), "") for name in names]
    seen = set()
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        found[name] = installed[name]
        for text in installed[name].requires or ():
            need = Requirement(text)
            if need.marker is None or need.marker.evaluate({"extra": extra}):
                waiting += [(canonicalize_name(need.name), part) for part in ("", *need.extras)]
    return found


def test_both_lists_of_pins_are_written_by_one_command() -> None:
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    assert (ROOT / "requirements.txt").read_text() == lock().requirements(lines)
    assert (ROOT / "environment.yml").read_text() == lock().environment(lines)
    spec = yaml.safe_load((ROOT / "environment.yml").read_text())
    assert next(d["pip"] for d in spec["dependencies"] if isinstance(d, dict)) == lines


def test_every_pin_follows_from_a_direct_one() -> None:
    """By the installed packages' own metadata: nothing is missing, nothing is there that nobody needs."""
    direct, everything = pins("requirements.in"), pins("requirements.txt")
    assert direct.items() <= everything.items()
    found = {name: d for name, d in brought_along(direct).items() if not name.startswith(lock().OF_A_BUILD)}
    assert set(found) == set(everything)
    assert {name: dist.version.partition("+")[0] for name, dist in found.items()} == everything


@pytest.mark.slow
def test_the_command_gives_the_same_bytes_again(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / ".ci" / "lock.py"), "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    if re.search(r"connection|resolve host|No matching distribution|timed out", done.stderr, re.IGNORECASE):
        pytest.skip(f"no package registry: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    for name in ("requirements.txt", "environment.yml"):
        assert (tmp_path / name).read_text() == (ROOT / name).read_text()


def test_a_pin_that_nobody_has_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "requirements.in").write_text("soden-no-such-package==1.0\n")
    with pytest.raises(SystemExit, match=r"could not resolve requirements.in; nothing was written:\n.*no-such-package"):
        lock().resolve(tmp_path, upgrade=True)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, since a build leaves folders behind."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    for part in ("soden", "baselines", "benchmarks"):
        shutil.copytree(ROOT / part, source / part, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--no-build-isolation", "--no-index", "--wheel-dir", str(folder), str(source)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    [path] = folder.glob("*.whl")
    return path


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


def test_the_citation_names_the_version() -> None:
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == soden.__version__
