"""Metrics of Section 5.3 and a few more; one file each, found by this folder."""
