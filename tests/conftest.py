"""Where tests find data that are not in the repository."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder with katzman/, released-splits/ and mimic-iii-demo/; the one setting is SODEN_DATA."""
    folder = Path(os.environ.get("SODEN_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"needs the data folder {folder}; set SODEN_DATA to a folder with katzman/ and released-splits/")
    return folder
