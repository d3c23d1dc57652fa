"""Invented tables that look like MIMIC-III v1.4: same files, columns, item ids and quirks, no real patient."""

from benchmarks.data.mimic3.synthesise.writer import ROWS_PER_PATIENT, write

__all__ = ["ROWS_PER_PATIENT", "write"]
