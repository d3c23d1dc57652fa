"""Small pieces of matrix products whose sums stay in registers, written for LLVM: what makes the loops above it fast.

The compiler vectorises an innermost loop, but then every partial sum goes through memory, and a product of two narrow
matrices runs at a third of what the processor can do. Here four rows by two vectors of columns, or four by three,
are summed in eight or twelve vectors, which any processor since 2013 can hold. The order of every sum is fixed, so are
its bits, in whatever order the blocks are made.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,misc,call-arg,attr-defined"

from __future__ import annotations

from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import types
from numba.core import cgutils, config
from numba.extending import intrinsic

# Sixteen numbers to a vector where the code is compiled for the processor at hand and that one can do so.
LANES = 16 if config.CPU_NAME is None and get_host_cpu_features().get("avx512f") else 8
# Two multiply-adds begin in a cycle and each takes four, so eight sums keep a processor busy; more of them save loads.
# Three across, 12 sums, 3 columns and a row fill the 16 registers of AVX2; AVX-512 has 32, and 4 divides more widths.
ROWS, COLUMNS, ACROSS = 4, 2 * LANES, 3 if LANES == 8 else 4
FLOAT, INDEX = ir.FloatType(), ir.IntType(32)
VECTOR = ir.VectorType(FLOAT, LANES)


class _Matrix:
    """Addresses in a C-contiguous vector, matrix, or pile of matrices, whose rows are counted through."""

    def __init__(self, context, builder, kind, value) -> None:
        if kind.layout != "C" or kind.dtype != types.float32:
            raise TypeError(f"blocks are made of contiguous float32 numbers; got {kind}")
        array = context.make_array(kind)(context, builder, value=value)
        shape = [builder.extract_value(array.shape, axis) for axis in range(kind.ndim)]
        self.builder, self.data = builder, array.data
        self.slices, self.rows, self.columns = [None, None, *shape][-3:]

    def at(self, row, column):
        """Where an element is."""
        return self.builder.gep(self.data, [self.builder.add(self.builder.mul(row, self.columns), column)])

    def vector(self, row, column):
        """As many neighbours of a row as fit a vector."""
        return self.builder.load(self.builder.bitcast(self.at(row, column), VECTOR.as_pointer()), align=4)


def _splat(builder, number):
    """The same number in all lanes."""
    undefined = ir.Constant(VECTOR, ir.Undefined)
    first = builder.insert_element(undefined, number, INDEX(0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(INDEX, LANES), [0] * LANES))


def _multiply_add(builder, a, b, c):
    kind = ir.FunctionType(VECTOR, [VECTOR] * 3)
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.fma.v{LANES}f32"), [a, b, c])


def _sum(builder, lanes):
    """The sum of a vector's numbers: halves first."""
    count = LANES
    while count > 1:
        count //= 2
        low, high = (ir.Constant(ir.VectorType(INDEX, count), list(range(i, i + count))) for i in (0, count))
        undefined = ir.Constant(lanes.type, ir.Undefined)
        halves = (builder.shuffle_vector(lanes, undefined, part) for part in (low, high))
        lanes = builder.fadd(*halves)
    return builder.extract_element(lanes, INDEX(0))


@intrinsic
def affine_block(typing, W, a, b, y, row, column, start):
    """y[row : row + 4, column : column + 2 L] = W[row : row + 4] a[:, start : start + 2 L] + b[row : row + 4]."""

    def generate(context, builder, signature, args):
        W, a, b, y = (_Matrix(context, builder, k, v) for k, v in zip(signature.args[:4], args[:4], strict=True))
        row, column, start = args[4:]
        step = row.type
        rows = [builder.add(row, step(r)) for r in range(ROWS)]
        columns = range(0, COLUMNS, LANES)
        sums = {}
        for r in rows:
            bias = _splat(builder, builder.load(b.at(step(0), r)))
            for c in columns:
                sums[r, c] = cgutils.alloca_once_value(builder, bias)
        with cgutils.for_range(builder, W.columns) as loop:
            across = {c: a.vector(loop.index, builder.add(start, step(c))) for c in columns}
            for r in rows:
                weight = _splat(builder, builder.load(W.at(r, loop.index)))
                for c in columns:
                    builder.store(_multiply_add(builder, weight, across[c], builder.load(sums[r, c])), sums[r, c])
        for (r, c), total in sums.items():
            place = builder.bitcast(y.at(r, builder.add(column, step(c))), VECTOR.as_pointer())
            builder.store(builder.load(total), place, align=4)
        return context.get_dummy_value()

    return types.void(W, a, b, y, types.intp, types.intp, types.intp), generate


@intrinsic
def outer_block(typing, d, a, g, sums, row, column, place, first, last, n):
    """g[row, column] += the sum over s of d[s, row, :n] a[s, column, :n]^T, and so for ROWS rows by ACROSS columns.

    n is a multiple of L, the lanes of a vector. A call adds first <= s < last; until the last s is reached, the sums
    wait as vectors in `sums` (rows, columns * L) at [row, place] and go on as if they had never stopped.
    """

    def generate(context, builder, signature, args):
        d, a, g, sums = (_Matrix(context, builder, k, v) for k, v in zip(signature.args[:4], args[:4], strict=True))
        row, column, place, first, last, n = args[4:]
        step = row.type
        pairs = [(r, c) for r in range(ROWS) for c in range(ACROSS)]
        totals = {pair: cgutils.alloca_once_value(builder, ir.Constant(VECTOR, [0.0] * LANES)) for pair in pairs}
        kept = {}
        for r, c in pairs:
            lanes = builder.mul(builder.add(place, step(c)), step(LANES))
            kept[r, c] = builder.bitcast(sums.at(builder.add(row, step(r)), lanes), VECTOR.as_pointer())
        with builder.if_then(builder.icmp_signed(">", first, step(0))):
            for pair in pairs:
                builder.store(builder.load(kept[pair], align=4), totals[pair])
        with cgutils.for_range_slice(builder, first, last, step(1), step) as (s, _):
            top = builder.add(builder.mul(s, d.rows), row)
            rows = [builder.add(top, step(r)) for r in range(ROWS)]
            top = builder.add(builder.mul(s, a.rows), column)
            columns = [builder.add(top, step(c)) for c in range(ACROSS)]
            with cgutils.for_range_slice(builder, step(0), n, step(LANES), step) as (i, _):
                across = [a.vector(c, i) for c in columns]
                down = [d.vector(r, i) for r in rows]
                for r, c in pairs:
                    total = _multiply_add(builder, down[r], across[c], builder.load(totals[r, c]))
                    builder.store(total, totals[r, c])
        with builder.if_else(builder.icmp_signed("<", last, d.slices)) as (unfinished, finished):
            with unfinished:
                for pair in pairs:
                    builder.store(builder.load(totals[pair]), kept[pair], align=4)
            with finished:
                for r, c in pairs:
                    to = g.at(builder.add(row, step(r)), builder.add(column, step(c)))
                    builder.store(builder.fadd(builder.load(to), _sum(builder, builder.load(totals[r, c]))), to)
        return context.get_dummy_value()

    return types.void(d, a, g, sums, *[types.intp] * 6), generate
