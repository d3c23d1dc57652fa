"""The benchmark: data, splits, metrics, search, statistics, tables, figures and page."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]  # of the clone
