"""Make a seed from names; every random number of the project starts from one of these seeds."""

from __future__ import annotations

import hashlib

import numpy as np


def seed_for(root: int, *key: str | int) -> int:
    """A 63-bit seed from a hash of the key, e.g. ("fit", "support", "soden", 3, 57): the same any day, any chunk."""
    text = "\x1f".join(str(part) for part in (root, *key))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def rng_for(root: int, *key: str | int) -> np.random.Generator:
    """A generator started from `seed_for`."""
    return np.random.default_rng(seed_for(root, *key))
