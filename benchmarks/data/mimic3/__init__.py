"""MIMIC and MIMIC-SEQ from the raw MIMIC-III v1.4 tables: one streaming pass per table, every exclusion counted."""

from benchmarks.data.mimic3.build import build
from benchmarks.data.mimic3.options import MimicOptions
from benchmarks.data.mimic3.tables import MimicError

__all__ = ["MimicError", "MimicOptions", "build"]
