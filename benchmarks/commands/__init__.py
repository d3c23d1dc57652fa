"""The verbs of `python -m benchmarks`, one file each: what it asks on the command line, and what it then does."""
