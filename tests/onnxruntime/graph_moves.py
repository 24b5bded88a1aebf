"""What random graphs are made of, part 1: elementwise operations, moves of elements, indices and reductions."""
from __future__ import annotations

import numpy as np
from graphs import ANY, BOOL, F16, F32, FLOATS, I8, I32, I64, NUMERIC, SMALL, U8, WHOLES, Maker, Value

EXTREME = [-(2**63), 2**63 - 1, -(2**31), 2**31 - 1, 2**40]


def unary(m: Maker) -> object:
    op = m.one(["Abs", "Neg", "Ceil", "Floor", "Round", "Sqrt", "Exp", "Log", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Tanh", "Asinh",
                "Acosh", "Atanh", "Erf", "Sigmoid", "Relu", "Softplus", "Softsign", "Mish", "HardSwish", "Reciprocal", "IsNaN", "IsInf", "Sign", "Identity"])
    # Where rounding decides, or what it left out becomes large.
    steps = op in ("Ceil", "Floor", "Round", "Sign", "IsInf", "Atanh", "Acos", "Asin", "Acosh", "Tan", "Log", "Reciprocal")
    kinds = FLOATS if op not in ("Abs", "Neg", "Sign", "Relu", "Identity") else NUMERIC
    return m.op(op, [m.take(kinds, exact=steps)])


def shaped_unary(m: Maker) -> object:
    op, names = m.one([("Elu", ["alpha"]), ("Celu", ["alpha"]), ("Selu", ["alpha", "gamma"]), ("LeakyRelu", ["alpha"]), ("HardSigmoid", ["alpha", "beta"]),
                       ("ThresholdedRelu", ["alpha"]), ("Shrink", ["lambd", "bias"]), ("Gelu", [])])
    exact = op in ("ThresholdedRelu", "Shrink")
    chosen = {name: float(m.one([0.5, 1.0, 1.5, 0.25, 2.0])) for name in names if m.chance(0.6)}
    if op == "Gelu" and m.chance(0.6):
        chosen["approximate"] = m.one(["tanh", "none"])
    return m.op(op, [m.take(FLOATS if op != "Shrink" else NUMERIC, exact=exact)], **chosen)


def not_zero(m: Maker, like: Value) -> Value:
    low = m.chance(0.5) and like.dtype.kind != "u"
    array = m.elements(like.dtype, [1 if m.chance(0.4) else n for n in like.shape], -5 if low else 1, -2 if low else 5)
    array = np.where(array == 0, np.ones_like(array) * 3, array) if array.dtype.kind != "f" else np.where(np.abs(array) < 0.5, 2, array).astype(array.dtype)
    return m.put(np.where(array == -1, np.array(2, array.dtype), array).astype(array.dtype), 0.6)


def binary(m: Maker) -> object:
    op = m.one(["Add", "Sub", "Mul", "Div", "Pow", "Mod", "Max", "Min", "Mean", "Sum", "PRelu"])
    a = m.take(NUMERIC if op not in ("Mean", "Sum") else FLOATS)
    if op in ("Div", "Mod"):
        b = not_zero(m, a)
        if op == "Mod" and (not a.exact or not b.exact):
            return None
        extra = {"fmod": 1} if op == "Mod" and (a.dtype.kind == "f" or m.chance(0.4)) else {}
        return m.op(op, [a, b], **extra)
    if op == "Pow":
        base = m.put(m.elements(a.dtype, a.shape, 0, 3), 0.4) if m.chance(0.6) or not a.exact else a
        kind = m.one([a.dtype, F32, I32, I64])
        return m.op(op, [base, m.put(m.elements(kind, [1 if m.chance(0.5) else n for n in a.shape], 0, 3), 0.6)])
    if op in ("Max", "Min", "Mean", "Sum"):
        return m.op(op, [a, *[m.like(a) for _ in range(m.whole(0, 2))]])
    return m.op(op, [m.like(a), a] if m.chance(0.3) and op != "PRelu" else [a, m.like(a)])


def comparison(m: Maker) -> object:
    op = m.one(["Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual"])
    a = m.take(ANY, exact=True)
    b = m.like(a)
    return m.op(op, [a, b]) if b.exact else None


def logic(m: Maker) -> object:
    op = m.one(["And", "Or", "Xor", "Not", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", "BitShift"])
    a = m.take([BOOL] if op in ("And", "Or", "Xor", "Not") else WHOLES if op != "BitShift" else [U8, np.dtype(np.uint32)])
    if op.endswith("Not"):
        return m.op(op, [a])
    if op == "BitShift":
        return m.op(op, [a, m.put(m.elements(a.dtype, a.shape, 0, 7))], direction=m.one(["LEFT", "RIGHT"]))
    return m.op(op, [a, m.like(a)])


def where(m: Maker) -> object:
    a = m.take(ANY)
    b = m.like(a)
    shape = np.broadcast_shapes(a.shape, b.shape) if compatible(a, b) else a.shape
    condition = m.take([BOOL], test=lambda v: compatible(v, a), make=lambda: m.fresh(BOOL, [1 if m.chance(0.3) else n for n in shape]))
    return m.op("Where", [condition, a, b] if m.chance(0.5) else [condition, b, a])


def compatible(a: Value, b: Value) -> bool:
    try:
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return False
    return True


def cast(m: Maker) -> object:
    to = m.one([F32, F16, I64, I32, U8, I8, np.dtype(np.uint32), BOOL])
    a = m.take(ANY, exact=True)
    if a.dtype.kind == "f" and to.kind in "ui":  # What is outside of the range is nobody's promise.
        info = np.iinfo(to)
        if a.array.size and (a.array.min() < max(info.min, -4000) or a.array.max() > min(info.max, 4000)):
            return None
    if m.chance(0.2):
        return m.op("CastLike", [a, m.take([to], make=lambda: m.fresh(to, [1]))])
    return m.op("Cast", [a], to={F32: 1, F16: 10, I64: 7, I32: 6, U8: 2, BOOL: 9}.get(to, 3 if to == np.dtype(np.int8) else 12))


def clip(m: Maker) -> object:
    a = m.take(NUMERIC)
    if m.opset < 11:
        return m.op("Clip", [a], **({"min": float(m.whole(-3, 0))} if m.chance(0.7) else {}), **({"max": float(m.whole(1, 3))} if m.chance(0.7) else {}))
    low, high = [m.put(np.array(n, a.dtype), 0.6) if m.chance(0.7) else None for n in (m.whole(0, 2), m.whole(1, 5))]
    return m.op("Clip", [a, low, high] if high else [a, low] if low else [a])


def reshape(m: Maker) -> object:
    a = m.take(ANY, test=lambda v: v.array.size > 0)
    left, to = a.array.size, []
    while left > 1 and len(to) < 5 and m.chance(0.75):
        factors = [n for n in range(1, left + 1) if left % n == 0]
        to.append(int(m.one(factors)))
        left //= to[-1]
    to.append(left)
    to = [to[i] for i in m.random.permutation(len(to))]
    if m.chance(0.4):
        to[m.whole(0, len(to) - 1)] = -1
    elif m.chance(0.3):
        to = [0 if d < a.array.ndim and a.shape[d] == n else n for d, n in enumerate(to)]
    return m.op("Reshape", [a, m.listed(to)])


def axes_op(m: Maker) -> object:
    op = m.one(["Squeeze", "Unsqueeze", "Flatten", "Transpose"])
    if op == "Flatten":
        a = m.take(ANY)
        return m.op(op, [a], **({"axis": m.whole(0 if m.opset < 11 else -a.array.ndim, a.array.ndim)} if m.chance(0.8) else {}))
    if op == "Transpose":
        a = m.take(ANY, 0, 5)
        return m.op(op, [a], **({"perm": [int(i) for i in m.random.permutation(a.array.ndim)]} if m.chance(0.8) and a.array.ndim else {}))
    if op == "Squeeze":
        a = m.take(ANY, test=lambda v: 1 in v.shape, make=lambda: m.fresh(F32, [1, 3, 1]))
        axes = [d for d, n in enumerate(a.shape) if n == 1 and m.chance(0.7)]
        if not axes:  # No axes in a list are all to ONNX Runtime, and none to the standard.
            return m.op(op, [a])
    else:
        a = m.take(ANY, 0, 3)
        rank = a.array.ndim + m.whole(1, 2)
        axes = sorted(int(i) for i in m.random.permutation(rank)[:rank - a.array.ndim])
        if m.opset >= 11 and m.chance(0.4):
            axes = [n - rank for n in axes]
    return m.op(op, [a], axes=axes) if m.opset < 13 else m.op(op, [a, m.listed(axes)])


def joined(m: Maker) -> object:
    a = m.take(ANY, 1)
    axis = m.axis(a.array.ndim) if m.opset >= 11 else m.whole(0, a.array.ndim - 1)
    parts = [a]
    for _ in range(m.whole(0, 3)):
        shape = list(a.shape)
        shape[axis] = m.whole(0, 5)
        parts.append(m.take([a.dtype], test=lambda v: v.array.ndim == a.array.ndim and all(
            v.shape[d] == a.shape[d] for d in range(a.array.ndim) if d != axis % a.array.ndim), make=lambda shape=shape: m.fresh(a.dtype, shape)))
    return m.op("Concat", [parts[i] for i in m.random.permutation(len(parts))], axis=axis)


def sliced(m: Maker) -> object:
    a = m.take(ANY, 1)
    axes = m.axes(a.array.ndim, 1)
    if m.opset < 10:
        axes = [n % a.array.ndim for n in axes]
    starts, ends, steps = [], [], []
    for axis in axes:
        extent = a.shape[axis]
        starts.append(int(m.one([0, m.whole(-extent - 2, extent + 2), *EXTREME])) if m.chance(0.7) else 0)
        ends.append(int(m.one([extent, m.whole(-extent - 2, extent + 2), m.whole(-extent - 2, extent + 2), *EXTREME])))
        steps.append(int(m.one([1, 1, 2, 3, -1, -2, 100, 2**63 - 1, -(2**63) + 1])))
    if m.opset < 10:
        return m.op("Slice", [a], starts=starts, ends=ends, axes=axes)
    # ONNX Runtime takes the largest numbers for the end of a backward slice, too, which the standard does not say.
    ends = [-n - 1 if step < 0 and n > 2**30 else n for n, step in zip(ends, steps, strict=True)]
    narrow = I32 if m.chance(0.2) else I64
    lists = [[max(min(n, 2**31 - 1), -(2**31)) if narrow == I32 else n for n in one] for one in (starts, ends, axes, steps)]
    values = [m.listed(one, narrow) for one in lists]
    if m.chance(0.3):
        values = values[:3]
    if m.chance(0.2) and [n % a.array.ndim for n in axes] == list(range(len(axes))):
        values[2] = None
    return m.op("Slice", [a, *values])


def split(m: Maker) -> object:
    a = m.take(ANY, 1)
    axis = m.axis(a.array.ndim) if m.opset >= 11 else m.whole(0, a.array.ndim - 1)
    parts, left = [], a.shape[axis]
    for _ in range(m.whole(0, 3)):
        parts.append(m.whole(0, left))
        left -= parts[-1]
    parts.append(left)
    if m.chance(0.3):
        count = m.whole(1, 4)
        return m.op("Split", [a], count, axis=axis, **({"num_outputs": count} if m.opset >= 18 else {}))
    return m.op("Split", [a], len(parts), axis=axis, split=parts) if m.opset < 13 else m.op("Split", [a, m.listed(parts)], len(parts), axis=axis)


def spread(m: Maker) -> object:
    op = m.one(["Expand", "Tile", "Pad", "Pad", "ConstantOfShape", "Trilu", "CenterCropPad", "EyeLike", "Shape", "Size", "Range"])
    if op == "Expand":
        a = m.take(ANY)
        shape = [n if n != 1 or m.chance(0.5) else m.whole(1, 4) for n in a.shape]
        shape = [m.whole(1, 3), *shape] if m.chance(0.3) else [1 if m.chance(0.2) else n for n in shape]
        return m.op(op, [a, m.listed(shape)])
    if op == "Tile":
        a = m.take(ANY, 0, 4)
        return m.op(op, [a, m.listed([m.whole(0 if m.chance(0.1) else 1, 3) for _ in a.shape])])
    if op == "Pad":
        return padded(m)
    if op == "ConstantOfShape":
        value = {"value": m.elements(m.one(ANY), [1])} if m.chance(0.7) else {}
        return m.op(op, [m.listed(m.extents())], **value)
    if op == "Trilu":
        a = m.take(ANY, 2)
        return m.op(op, [a, m.put(np.array(m.one([0, 1, -1, 2, 9, -9]), np.int64), 0.7)] if m.chance(0.7) else [a], upper=m.whole(0, 1))
    if op == "CenterCropPad":
        a = m.take(NUMERIC, 1)
        axes = m.axes(a.array.ndim, 1)
        return m.op(op, [a, m.listed([m.whole(1, 8) for _ in axes])], axes=axes)
    if op == "EyeLike":
        return m.op(op, [m.take([F32, I32, I64], 2, 2)], **({"k": m.whole(-3, 3)} if m.chance(0.5) else {}))
    if op == "Shape" and m.opset >= 15:
        return m.op(op, [m.take(ANY)], **({"start": m.whole(-5, 4)} if m.chance(0.5) else {}), **({"end": m.whole(-5, 4)} if m.chance(0.5) else {}))
    if op == "Range":
        kind = m.one([I64, I32, F32])
        start, delta = m.whole(-3, 3), m.one([1, 2, -1, 3])
        return m.op(op, [m.put(np.array(n, kind), 0.6) for n in (start, start + delta * m.whole(-1, 6), delta)])
    return m.op(op, [m.take(ANY)])


def padded(m: Maker) -> object:
    a = m.take(NUMERIC, 1, 4, test=lambda v: v.array.size > 0)
    mode = m.one(["constant", "constant", "reflect", "edge", "wrap"])
    few = m.opset >= 18 and m.chance(0.4)
    axes = m.axes(a.array.ndim, 1) if few else list(range(a.array.ndim))
    pads = [m.whole(-1 if mode == "constant" else 0, 3 if mode == "constant" else min(3, max(0, a.shape[n] - 1))) for _ in range(2) for n in axes]
    if min(pads, default=0) < 0:  # ONNX Runtime reads what is not there where nothing is left between pads.
        pads = [min(n, 0) if extent > 2 else max(n, 0) for n, extent in zip(pads, [a.shape[n] for n in axes] * 2, strict=True)]
    if m.opset < 11:
        return m.op("Pad", [a], mode=mode, pads=pads, value=float(m.whole(-2, 2)))
    value = m.put(np.array(m.whole(0, 3), a.dtype), 0.7) if mode == "constant" and m.chance(0.6) else None
    inputs = [a, m.listed(pads), value, m.listed(axes)] if few else [a, m.listed(pads), value] if value else [a, m.listed(pads)]
    return m.op("Pad", inputs, mode=mode)


def places(m: Maker, extent: int, shape: list[int], kind: np.dtype | None = None, constant: float = 0.4) -> Value:
    low = -extent if m.opset >= 11 else 0
    return m.put(m.random.integers(low, max(extent, low + 1), shape).astype(kind or m.one([I64, I32])), constant)


def gathered(m: Maker) -> object:
    op = m.one(["Gather", "GatherElements", "GatherND", "OneHot", "ReverseSequence", "Compress"])
    a = m.take(ANY, 1, 4, test=lambda v: 0 not in v.shape, make=lambda: m.fresh(m.one(ANY), [m.whole(1, 5) for _ in range(m.whole(1, 3))]))
    rank = a.array.ndim
    axis = m.axis(rank)
    if op == "Gather":
        return m.op(op, [a, places(m, a.shape[axis], m.extents(0, 2))], axis=axis)
    if op == "GatherElements":
        shape = [m.whole(1, n) for n in a.shape]
        shape[axis] = m.whole(1, 6)
        return m.op(op, [a, places(m, a.shape[axis], shape)], axis=axis)
    if op == "GatherND":
        batch = m.whole(0, rank - 1) if m.opset >= 12 and m.chance(0.4) else 0
        depth = m.whole(1, rank - batch)
        outer = [*a.shape[:batch], *m.extents(0, 2)]
        index = np.stack([m.random.integers(-a.shape[batch + k] if m.opset >= 12 else 0, a.shape[batch + k], outer) for k in range(depth)], -1)
        return m.op(op, [a, m.put(index.astype(np.int64))], **({"batch_dims": batch} if batch else {}))
    if op == "OneHot":
        depth = m.whole(1, 6)
        index = m.put(m.random.integers(-depth - 1, depth + 2, [max(n, 1) for n in m.extents(1, 2)]).astype(m.one([np.int64, np.int32, np.float32])))
        kind = m.one([F32, I64, I32])
        return m.op(op, [index, m.put(np.array(depth, np.int64), 0.7), m.fresh(kind, [2])], axis=m.one([-1, 0]))
    if op == "ReverseSequence":
        if rank < 2:
            return None
        time, batch = [(0, 1), (1, 0)][m.whole(0, 1)]
        return m.op(op, [a, m.put(m.random.integers(1, a.shape[time] + 1, a.shape[batch]))], time_axis=time, batch_axis=batch)
    flat = m.chance(0.4)
    count = a.array.size if flat else a.shape[axis]
    return m.op(op, [a, m.fresh(BOOL, [max(1, m.whole(count - 1, count))])], **({} if flat else {"axis": axis}))


def scattered(m: Maker) -> object:
    op = m.one(["ScatterND", "ScatterElements"])
    a = m.take([F32, F32, I64, I32], 1, 3, test=lambda v: 0 not in v.shape, make=lambda: m.fresh(m.one([F32, I64]), [m.whole(1, 5), 3]))
    rank = a.array.ndim
    how = m.one(["none", "add", "mul", *(["max", "min"] if m.opset >= 18 else [])]) if m.opset >= 16 else None
    if op == "ScatterND":
        depth = m.whole(1, rank)
        count = int(np.prod(a.shape[:depth]))
        chosen = m.random.permutation(count)[:m.whole(1, count)] if how in (None, "none") else m.random.integers(0, count, m.whole(1, 6))
        index = np.stack(np.unravel_index(chosen, a.shape[:depth]), -1).astype(np.int64)
        return m.op(op, [a, m.put(index), m.fresh(a.dtype, [len(chosen), *a.shape[depth:]])], reduction=how)
    axis = m.axis(rank)
    shape = [m.whole(1, n) for n in a.shape]
    numbers = np.arange(a.shape[axis]).reshape([-1 if d == axis % rank else 1 for d in range(rank)])
    lines = m.random.permuted(np.broadcast_to(numbers, a.shape).copy(), axis=axis)
    index = lines[tuple(slice(0, n) for n in shape)].astype(np.int64)
    if m.opset >= 11 and m.chance(0.3):
        index = index - a.shape[axis]
    return m.op(op, [a, m.put(index), m.fresh(a.dtype, shape)], axis=axis, reduction=how)


def reduced(m: Maker) -> object:
    op = m.one(["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp",
                "ReduceSumSquare"])
    kinds = [F32] if "Log" in op or op == "ReduceMean" else [F32, F32, F32, I64, I32, *(SMALL if op in ("ReduceMax", "ReduceMin") else [])]
    a = m.take(kinds, 0, 4, test=lambda v: 0 not in v.shape)
    if 0 in a.shape:  # ONNX Runtime's smallest number of none is 0, the standard's the largest one that there is.
        return None
    axes = m.axes(a.array.ndim, 1) if m.opset >= 11 else [n % a.array.ndim for n in m.axes(a.array.ndim, 1)]
    extra: dict[str, object] = {"keepdims": m.whole(0, 1)} if m.chance(0.6) else {}
    as_input = m.opset >= 18 or (op == "ReduceSum" and m.opset >= 13)
    if as_input and m.chance(0.3):
        extra["noop_with_empty_axes"] = m.whole(0, 1)
    if m.chance(0.25) or a.array.ndim == 0:
        return m.op(op, [a], **extra)
    return m.op(op, [a, m.listed(axes)], **extra) if as_input else m.op(op, [a], axes=axes, **extra)


def chosen(m: Maker) -> object:
    op = m.one(["ArgMax", "ArgMin", "TopK", "NonZero", "Unique", "CumSum"])
    a = m.take([F32, I32, I64] if op != "NonZero" else ANY, 0 if op == "NonZero" else 1, 4, exact=True,
               test=lambda v: 0 not in v.shape, make=lambda: m.fresh(F32, [m.whole(1, 6), m.whole(1, 6)]))
    axis = m.axis(a.array.ndim)
    if op in ("NonZero", "Unique"):
        if op == "NonZero":
            return m.op(op, [a])
        return m.op(op, [a], m.whole(1, 4), sorted=m.whole(0, 1), **({"axis": axis} if m.chance(0.4) else {}))
    if op == "CumSum":
        return m.op(op, [a, m.put(np.array(axis, np.int64), 0.7)], exclusive=m.whole(0, 1), reverse=m.whole(0, 1))
    if op == "TopK":
        values = m.random.permutation(a.array.size).reshape(a.shape).astype(a.dtype)  # no two alike
        k = m.whole(0 if m.chance(0.1) else 1, a.shape[axis])
        extra = {"largest": m.whole(0, 1), "sorted": 1} if m.opset >= 11 else {}
        x = m.put(values)
        return m.op(op, [x, m.put(np.array([k], np.int64), 0.7)], 2, axis=axis, **extra) if m.opset >= 10 else m.op(op, [x], 2, axis=axis, k=k)
    extra = {"select_last_index": m.whole(0, 1)} if m.opset >= 12 else {}
    return m.op(op, [a], **({"axis": axis if m.opset >= 11 else axis % a.array.ndim} if m.chance(0.8) else {}), keepdims=m.whole(0, 1), **extra)


def soft(m: Maker) -> object:
    a = m.take(FLOATS, 1, 4)
    op = m.one(["Softmax", "LogSoftmax", "Hardmax"])
    if op == "Hardmax" and not a.exact:
        return None
    return m.op(op, [a], **({"axis": m.axis(a.array.ndim) if m.opset >= 11 else m.whole(0, a.array.ndim - 1)} if m.chance(0.8) else {}))


MOVES = [unary, unary, shaped_unary, binary, binary, binary, comparison, logic, where, cast, clip, reshape, reshape, axes_op, axes_op, joined, sliced, sliced,
         split, spread, spread, gathered, gathered, scattered, reduced, reduced, chosen, soft]
