"""`python -m benchmarks.speed NAME [options]`: one module of this folder per measurement; `all` runs each in turn."""

from __future__ import annotations

import argparse
import pkgutil
import sys
from importlib import import_module

from benchmarks import numerics


def names() -> list[str]:
    """The measurements: every public module beside this one."""
    import benchmarks.speed

    return sorted(m.name for m in pkgutil.iter_modules(benchmarks.speed.__path__) if not m.name.startswith("_"))


def main(argv: list[str] | None = None) -> int:
    """Run one measurement, or all."""
    argv = sys.argv[1:] if argv is None else argv
    # Peers choose their arithmetic by the processor, so we do; one thread each, whatever cores happen to be idle.
    numerics.set_up("native")
    if not argv or argv[0] not in [*names(), "all"]:
        print(f"usage: python -m benchmarks.speed {{{','.join([*names(), 'all'])}}} [--help]")
        return 2 if argv and argv[0] not in ("-h", "--help") else 0
    codes = []
    for name in names() if argv[0] == "all" else [argv[0]]:
        module = import_module(f"benchmarks.speed.{name}")
        parser = argparse.ArgumentParser(prog=f"python -m benchmarks.speed {name}", description=module.__doc__)
        module.add_arguments(parser)
        codes.append(int(module.run(parser.parse_args(argv[1:]))))
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
