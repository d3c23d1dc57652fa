"""The arena: data, splits, metrics, search, tests, tables, figures; `speed` times us against peers."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]  # of the clone
