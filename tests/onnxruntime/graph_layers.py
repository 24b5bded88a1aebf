"""What random graphs are made of, part 2: products, windows, norms, layers, quantized numbers, and graphs inside of nodes."""
from __future__ import annotations

import numpy as np
import wire
from graphs import BOOL, F16, F32, I8, I32, I64, NUMBERS, U8, Body, Maker, Value
from wire import attribute, graph, node, port


def image(m: Maker, dims: int | None = None, channels: int | None = None, kinds: list[np.dtype] | None = None) -> Value:
    dims = dims or m.whole(1, 3)
    kinds = kinds or [F32, F32, F16]
    return m.take(kinds, dims + 2, dims + 2, test=lambda v: 0 not in v.shape and (channels is None or v.shape[1] == channels),
                  make=lambda: m.fresh(m.one(kinds), [m.whole(1, 2), channels or m.whole(1, 6), *[m.whole(2, 9) for _ in range(dims)]]))


def windows(m: Maker, dims: int, extents: tuple[int, ...], dilated: bool = True) -> dict[str, object]:
    kernel = [m.whole(1, min(4, n)) for n in extents]
    out: dict[str, object] = {"kernel_shape": kernel}
    if m.chance(0.6):
        out["strides"] = [m.whole(1, 3) for _ in range(dims)]
    if dilated and m.chance(0.3):
        out["dilations"] = [m.whole(1, 2) if (k - 1) * 2 + 1 <= n else 1 for k, n in zip(kernel, extents, strict=True)]
    how = m.one(["pads", "pads", "SAME_UPPER", "SAME_LOWER", "VALID", ""])
    if how == "pads":
        out["pads"] = [m.whole(0, k - 1) for _ in range(2) for k in kernel]
    elif how:
        out["auto_pad"] = how
        out.pop("dilations", None)  # ONNX Runtime leaves them out of its padding,
        if "strides" in out:  # and takes windows smaller than their steps for padding below 0.
            out["strides"] = [min(s, k) for s, k in zip(out["strides"], kernel, strict=True)]
    return out


def conv(m: Maker) -> object:
    op = m.one(["Conv", "Conv", "ConvTranspose"])
    x = image(m)
    dims, channels = x.array.ndim - 2, x.shape[1]
    group = int(m.one([g for g in range(1, channels + 1) if channels % g == 0]))
    more = windows(m, dims, x.shape[2:])
    kernel = more["kernel_shape"]
    outputs = m.whole(1, 4)
    shape = [outputs * group, channels // group] if op == "Conv" else [channels, outputs]
    w = m.fresh(x.dtype, [*shape, *kernel], constant=0.7)
    bias = [m.fresh(x.dtype, [outputs * group], constant=0.7)] if m.chance(0.6) else []
    if m.chance(0.3):
        del more["kernel_shape"]
    if op == "ConvTranspose":
        strides = more.get("strides", [1] * dims)
        if "auto_pad" in more and any(k < s for k, s in zip(kernel, strides, strict=True)):
            return None  # ONNX Runtime's results are smaller than the standard's.
        if m.chance(0.3):
            more["output_padding"] = [m.whole(0, n - 1) for n in strides]
    return m.op(op, [x, w, *bias], group=group, **more)


def pool(m: Maker) -> object:
    op = m.one(["MaxPool", "MaxPool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"])
    x = image(m, kinds=[F32, F32, F16] if op == "MaxPool" else [F32])
    if op.startswith("Global"):
        return m.op(op, [x], **({"p": m.whole(1, 3)} if op == "GlobalLpPool" else {}))
    more = windows(m, x.array.ndim - 2, x.shape[2:], op == "MaxPool" and m.opset >= 10 or m.opset >= 19)
    if op == "LpPool":
        more["p"] = m.whole(1, 3)
    elif m.opset >= 10 and m.chance(0.4):
        more["ceil_mode"] = 1
    if op == "AveragePool" and m.chance(0.5):
        more["count_include_pad"] = 1
    if op == "MaxPool" and x.dtype == F32 and m.chance(0.4):
        return m.op(op, [m.put(m.random.permutation(x.array.size).reshape(x.shape).astype(np.float32))], 2, **more)
    return m.op(op, [x], **more)


def norm(m: Maker) -> object:
    op = m.one(["BatchNormalization", "InstanceNormalization", "LayerNormalization", "GroupNormalization", "RMSNormalization", "LRN", "LpNormalization",
                "MeanVarianceNormalization"])
    x = image(m, kinds=[F32])
    channels = x.shape[1]
    if op in ("LayerNormalization", "RMSNormalization"):
        axis = m.axis(x.array.ndim)
        shape = x.shape[axis:]
        bias = [m.fresh(F32, shape)] if op[0] == "L" and m.chance(0.6) else []
        return m.op(op, [x, m.fresh(F32, shape), *bias], m.whole(1, 3) if op[0] == "L" else 1, axis=axis, epsilon=1e-3)
    if op == "BatchNormalization":
        return m.op(op, [x, *[m.fresh(F32, [channels], constant=0.8) for _ in range(3)], m.fresh(F32, [channels], 1, 3, 0.8)], epsilon=1e-2)
    if op == "InstanceNormalization":
        return m.op(op, [x, m.fresh(F32, [channels]), m.fresh(F32, [channels])], epsilon=1e-2)
    if op == "GroupNormalization":
        groups = int(m.one([g for g in range(1, channels + 1) if channels % g == 0]))
        n = channels if m.opset >= 21 else groups
        return m.op(op, [x, m.fresh(F32, [n]), m.fresh(F32, [n])], num_groups=groups, epsilon=1e-2)
    if op == "LRN":
        return m.op(op, [x], size=m.whole(1, 3) * 2 - 1, alpha=0.01, beta=0.7, bias=1.5)
    if op == "LpNormalization":
        axis = m.axis(x.array.ndim) if m.opset >= 11 else 1
        if not np.abs(x.array).sum(axis).all() or x.name in m.free:  # No length: 0 for ONNX Runtime, NaN in the tests of the standard.
            return None
        return m.op(op, [x], axis=axis, p=m.whole(1, 2))
    axes = m.axes(x.array.ndim, 1)
    if all(x.shape[d] == 1 for d in axes):  # ONNX Runtime divides by 0, and the standard by a little more.
        return None
    return m.op(op, [x], axes=axes)


def product(m: Maker) -> object:
    op = m.one(["MatMul", "MatMul", "Gemm", "Einsum", "MatMulInteger"])
    rows, depth, columns = m.whole(1, 9), m.whole(1, 40 if m.chance(0.3) else 8), m.whole(1, 9)
    kind = m.one([F32, F32, F16, I32]) if op == "MatMul" else F32
    if op == "MatMulInteger":
        a, b = m.fresh(m.one([U8, I8]), [rows, depth]), m.fresh(m.one([U8, I8]), [depth, columns])
        zeros = [m.put(np.array(m.whole(0, 5), a.dtype), 0.7), m.put(m.elements(b.dtype, [columns] if m.chance(0.4) else [], 0, 5), 0.7)]
        return m.op(op, [a, b, *zeros[:m.whole(0, 2)]])
    if op == "Gemm":
        ta, tb = m.whole(0, 1), m.whole(0, 1)
        a, b = m.fresh(F32, [depth, rows] if ta else [rows, depth]), m.fresh(F32, [columns, depth] if tb else [depth, columns], constant=0.6)
        c = [m.fresh(F32, m.one([[columns], [rows, columns], [1, columns], [rows, 1], [], [1]]))] if m.chance(0.6) or m.opset < 11 else []
        return m.op(op, [a, b, *c], transA=ta, transB=tb, alpha=float(m.one([1.0, 0.5])), beta=float(m.one([1.0, 2.0, 0.0])))
    if op == "Einsum":
        text, ranks = m.one([("ij,jk->ik", [2, 2]), ("bij,bjk->bik", [3, 3]), ("...ij,...jk->...ik", [3, 3]), ("ii->i", [2]), ("ij->ji", [2]), ("ij->", [2]),
                             ("bhqd,bhkd->bhqk", [4, 4]), ("i,j->ij", [1, 1]), ("bn,anm,bm->ba", [2, 3, 2]), ("ij,jk", [2, 2]), ("...i->...", [3]),
                             ("bii->b", [3]), ("i...,i...->...", [2, 2])])  # fmt: skip
        n = m.whole(1, 5)
        return m.op(op, [m.fresh(F32, [n] * rank) for rank in ranks], equation=text)
    left = m.take([kind], 1, 4, test=lambda v: 0 not in v.shape, make=lambda: m.fresh(kind, [*m.extents(0, 2), rows, depth]))
    batch = [1 if m.chance(0.3) else n for n in left.shape[:-2]]
    shape = m.one([[left.shape[-1]], [left.shape[-1], columns], [*batch, left.shape[-1], columns]])
    return m.op(op, [left, m.fresh(left.dtype, shape, constant=0.5)])


def resized(m: Maker) -> object:
    op = m.one(["Resize", "Resize", "DepthToSpace", "SpaceToDepth", "GridSample", "RoiAlign", "Col2Im", "MaxRoiPool"])
    if op in ("DepthToSpace", "SpaceToDepth"):
        block = m.whole(1, 3)
        deep = op[0] == "D"
        x = m.fresh(F32, [m.whole(1, 2), m.whole(1, 2) * (block**2 if deep else 1), *[m.whole(1, 3) * (1 if deep else block) for _ in range(2)]])
        return m.op(op, [x], blocksize=block, **({"mode": m.one(["DCR", "CRD"])} if deep and m.opset >= 11 else {}))
    x = image(m, 2, kinds=[F32])
    if op == "GridSample":
        grid = m.put(m.random.uniform(-1.3, 1.3, [x.shape[0], m.whole(1, 4), m.whole(1, 4), 2]).astype(np.float32), 0.3)
        modes = ["bilinear", "bicubic", "nearest"] if m.opset < 20 else ["linear", "cubic", "nearest"]
        return m.op(op, [x, grid], mode=m.one(modes), padding_mode=m.one(["zeros", "border", "reflection"]), align_corners=m.whole(0, 1))
    if op in ("RoiAlign", "MaxRoiPool"):
        n = m.whole(1, 3)
        corner = m.random.uniform(0, 3, [n, 2])
        boxes = np.concatenate([corner, corner + m.random.uniform(0.5, 5, [n, 2])], 1).astype(np.float32)
        which = m.random.integers(0, x.shape[0], n)
        if op == "MaxRoiPool":
            boxes = np.concatenate([which[:, None].astype(np.float32), np.round(boxes)], 1).astype(np.float32)
            return m.op(op, [x, m.put(boxes)], pooled_shape=[m.whole(1, 3), m.whole(1, 3)], spatial_scale=float(m.one([1.0, 0.5])))
        more = {"coordinate_transformation_mode": m.one(["half_pixel", "output_half_pixel"])} if m.opset >= 16 else {}
        return m.op(op, [x, m.put(boxes), m.put(which)], mode=m.one(["avg", "max"]), output_height=m.whole(1, 3), output_width=m.whole(1, 3),
                    sampling_ratio=m.whole(0, 3), spatial_scale=float(m.one([1.0, 0.5])), **more)
    if op == "Col2Im":
        block, size = [m.whole(1, 2), m.whole(1, 3)], [m.whole(3, 6), m.whole(3, 6)]
        count = (size[0] - block[0] + 1) * (size[1] - block[1] + 1)
        return m.op(op, [m.fresh(F32, [1, m.whole(1, 2) * block[0] * block[1], count]), m.listed(size), m.listed(block)])
    mode = m.one(["nearest", "linear", "cubic"])
    if m.opset < 10:
        if m.opset < 9:
            return m.op("Upsample", [x], mode=m.one(["nearest", "linear"]), scales=[1.0, 1.0, 2.0, 3.0])
        return m.op("Upsample", [x, m.put(np.array([1, 1, m.one([1, 2, 1.5]), m.one([1, 2, 3])], np.float32), 1)], mode=m.one(["nearest", "linear"]))
    if m.opset < 11:
        return m.op("Resize", [x, m.put(np.array([1, 1, m.one([1, 2, 0.5]), m.one([1, 2, 1.5])], np.float32), 1)], mode=m.one(["nearest", "linear"]))
    more = {"mode": mode}
    if m.chance(0.8):
        ways = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", *(["half_pixel_symmetric"] if m.opset >= 19 else [])]
        more["coordinate_transformation_mode"] = m.one(ways)
    if mode == "nearest":
        more["nearest_mode"] = m.one(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
    if mode == "cubic":
        more["cubic_coeff_a"] = float(m.one([-0.75, -0.5]))
        more["exclude_outside"] = m.whole(0, 1)
    if m.opset >= 18 and mode != "nearest" and m.chance(0.4):
        more["antialias"] = 1
    times = [1, 1, m.one([1, 2, 0.5, 1.5]), m.one([1, 2, 0.6, 3])]
    if more.get("coordinate_transformation_mode") == "align_corners" and min(times) < 1:
        times = [1, 1, 2, 1.5]  # Where results are smaller, ONNX Runtime and the tests of the standard differ.
    roi = None if m.opset >= 13 else m.put(np.zeros(0, np.float32), 1)
    if m.chance(0.5):
        sizes = [*x.shape[:2], m.whole(1, 12), m.whole(1, 12)]
        if m.opset >= 18 and m.chance(0.4):
            more["keep_aspect_ratio_policy"] = m.one(["stretch", "not_larger", "not_smaller"])
            more["axes"] = [2, 3]
            sizes = sizes[2:]
        return m.op("Resize", [x, roi, None if m.opset >= 13 else m.put(np.zeros(0, np.float32), 1), m.listed(sizes)], **more)
    return m.op("Resize", [x, roi, m.put(np.array(times, np.float32), 0.7)], **more)


def quantized(m: Maker) -> object:
    op = m.one(["pair", "pair", "DynamicQuantizeLinear", "QLinearConv", "QLinearMatMul", "ConvInteger"])
    kind = m.one([U8, I8])
    if op == "DynamicQuantizeLinear":
        x = m.take([F32], 0, 3, exact=True, test=lambda v: 0 not in v.shape)
        made = m.op(op, [x], 3)
        return made and m.op("DequantizeLinear", made)
    if op == "pair":
        x = m.take([F32], 1, 4, exact=True)
        axis = m.axis(x.array.ndim)
        by_axis = m.opset >= 13 and m.chance(0.4)
        shape = [x.shape[axis]] if by_axis else []
        scale = m.put(np.asarray(m.random.choice([0.25, 0.5, 0.125], shape), np.float32), 0.8)
        zero = m.put(m.elements(kind, shape, -9 if kind == I8 else 0, 9), 0.8)
        more = {"axis": axis} if by_axis else {}
        made = m.op("QuantizeLinear", [x, scale, zero] if m.chance(0.8) or kind == I8 else [x, scale], **more)
        return made and m.op("DequantizeLinear", [made[0], scale, zero] if m.chance(0.8) else [made[0], scale], **more)
    def scales() -> Value:
        return m.put(np.array(m.one([0.02, 0.013, 0.031]), np.float32), 0.9)

    if op == "QLinearMatMul":
        a, b = m.fresh(kind, [*m.extents(0, 1), m.whole(1, 5), 7], 0, 99), m.fresh(kind, [7, m.whole(1, 5)], 0, 99)
        zeros = [m.put(np.array(m.whole(0, 9), kind), 0.9) for _ in range(3)]
        return m.op(op, [a, scales(), zeros[0], b, scales(), zeros[1], scales(), zeros[2]])
    x = m.fresh(U8, [m.whole(1, 2), 2 * m.whole(1, 2), m.whole(3, 7), m.whole(3, 7)], 0, 99)
    group = m.whole(1, 2)
    w = m.fresh(m.one([U8, I8]) if op == "QLinearConv" else U8, [2 * group, x.shape[1] // group, m.whole(1, 3), m.whole(1, 3)], 0, 99, 0.8)
    more = {"group": group, "pads": [m.whole(0, 1) for _ in range(4)], "strides": [m.whole(1, 2), m.whole(1, 2)]}
    zero = m.put(np.array(m.whole(0, 9), U8), 0.9)
    if op == "ConvInteger":
        return m.op(op, [x, w, zero] if m.chance(0.7) else [x, w], **more)
    by_channel = m.chance(0.5)
    scale_w = m.put(np.full(w.shape[0], 0.01, np.float32) * (1 + np.arange(w.shape[0], dtype=np.float32)), 0.9) if by_channel else scales()
    zero_w = m.put(np.zeros(w.shape[0] if by_channel else [], w.dtype), 0.9)
    bias = [m.put(m.random.integers(-999, 999, w.shape[0]).astype(np.int32), 0.9)] if m.chance(0.5) else []
    return m.op(op, [x, scales(), zero, w, scale_w, zero_w, scales(), m.put(np.array(3, U8), 0.9), *bias], **more)


def recurrent(m: Maker) -> object:
    op, gates = m.one([("LSTM", 4), ("GRU", 3), ("RNN", 1)])
    steps, batch, inputs, hidden = m.whole(1, 5), m.whole(1, 3), m.whole(1, 4), m.whole(1, 5)
    direction = m.one(["forward", "reverse", "bidirectional"])
    ways = 2 if direction == "bidirectional" else 1
    more: dict[str, object] = {"hidden_size": hidden, "direction": direction}
    later = m.opset >= 14 and m.chance(0.0)
    x = m.fresh(F32, [steps, batch, inputs], -1, 1)
    w, r = m.fresh(F32, [ways, gates * hidden, inputs], -1, 1, 0.8), m.fresh(F32, [ways, gates * hidden, hidden], -1, 1, 0.8)
    optional = [m.fresh(F32, [ways, 2 * gates * hidden], -1, 1, 0.8), m.put(m.random.integers(1, steps + 1, batch).astype(np.int32), 0.5),
                *[m.fresh(F32, [ways, batch, hidden], -1, 1, 0.5) for _ in range(2 if op == "LSTM" else 1)]]
    optional = [one if m.chance(0.6) else None for one in optional]
    if op == "LSTM" and m.chance(0.3):
        optional += [None] * (4 - len(optional))
        optional.append(m.fresh(F32, [ways, 3 * hidden], -1, 1, 0.8))
    if op == "LSTM" and m.chance(0.2):
        more["input_forget"] = 1
    if op == "GRU" and m.chance(0.5):
        more["linear_before_reset"] = 1
    if m.chance(0.2):
        more["clip"] = 0.5
    if m.chance(0.3):
        each = {"LSTM": 3, "GRU": 2, "RNN": 1}[op]
        # ONNX Runtime gives RNN no default for the numbers of HardSigmoid.
        names = ["Sigmoid", "Tanh", "Relu", "Softsign", *(["HardSigmoid"] if op != "RNN" else [])]
        more["activations"] = [str(m.one(names)) for _ in range(each * ways)]
    while optional and optional[-1] is None:
        optional.pop()
    count = 3 if op == "LSTM" else 2
    wanted = [m.chance(0.8) for _ in range(count)]
    return m.op(op, [x, w, r, *optional], wanted if any(wanted) else count, layout=int(later) or None, **more)


def chain(m: Maker, value: str, captured: Value, count: int) -> tuple[list[bytes], str]:
    """Elementwise nodes from a value, with one from outside."""
    nodes = []
    for k in range(count):
        result = f"{value}_{k}"
        op = m.one(["Add", "Sub", "Mul", "Max", "Tanh", "Neg", "Sigmoid"])
        last = f"{value}_{k - 1}" if k else value
        nodes.append(node(str(op), [last] if op in ("Tanh", "Neg", "Sigmoid") else [last, captured.name], [result]))
    return nodes, f"{value}_{count - 1}" if count else value


def control(m: Maker) -> object:
    op = m.one(["If", "If", "Loop", "Loop", "Scan", "function"])
    a = m.take([F32], 1, 3, exact=True, test=lambda v: 0 not in v.shape, make=lambda: m.fresh(F32, [m.whole(1, 4), m.whole(1, 4)]))
    kind = NUMBERS[F32]
    if op == "function":
        return function(m, a)
    mark = f"{m.number()}in"
    if op == "If":
        bodies = []
        for side in ("t", "e"):
            nodes, last = chain(m, f"{mark}{side}", a, m.whole(1, 3))
            nodes.insert(0, node("Identity", [a.name], [f"{mark}{side}"]))
            if m.chance(0.3):  # another one inside
                inner = graph([node("Neg", [last], [f"{mark}{side}n"])], [], [port(f"{mark}{side}n", kind, None)])
                other = graph([node("Exp", [last], [f"{mark}{side}o"])], [], [port(f"{mark}{side}o", kind, None)])
                nodes += [node("Constant", [], [f"{mark}{side}c"], attribute("value", np.array(m.chance(0.5)))),
                          node("If", [f"{mark}{side}c"], [f"{mark}{side}r"], attribute("then_branch", inner), attribute("else_branch", other))]
                last = f"{mark}{side}r"
            bodies.append(Body(graph(nodes, [], [port(last, kind, None)]), [a]))
        return m.op("If", [m.put(np.array(m.chance(0.5)), 0.5)], then_branch=bodies[0], else_branch=bodies[1])
    state = m.fresh(F32, a.shape)
    nodes, last = chain(m, f"{mark}s", a, m.whole(1, 3))
    if op == "Scan":
        if m.opset < 9:
            return None
        body = graph([*nodes, node("Add", [last, f"{mark}x"], [f"{mark}out"]), node("Mul", [f"{mark}x", f"{mark}out"], [f"{mark}y"])],
                     [port(f"{mark}s", kind, a.shape), port(f"{mark}x", kind, a.shape)], [port(f"{mark}out", kind, a.shape), port(f"{mark}y", kind, a.shape)])
        axis = m.whole(0, a.array.ndim)
        shape = list(a.shape)
        shape.insert(axis, m.whole(1, 4))
        return m.op(op, [state, m.fresh(F32, shape, -1, 1)], 2, body=Body(body, [a]), num_scan_inputs=1, scan_input_axes=[axis],
                    scan_input_directions=[m.whole(0, 1)], scan_output_axes=[m.whole(0, a.array.ndim)], scan_output_directions=[m.whole(0, 1)])
    stops = m.chance(0.3)  # by its own condition, which counts
    ends = [node("Identity", [f"{mark}go"], [f"{mark}on"])]
    if stops:
        ends = [node("Constant", [], [f"{mark}m"], attribute("value", np.array(2, np.int64))), node("Less", [f"{mark}i", f"{mark}m"], [f"{mark}on"])]
    scan = [node("Cast", [f"{mark}i"], [f"{mark}f"], attribute("to", kind)), node("Add", [last, f"{mark}f"], [f"{mark}y"])]
    body = graph([*nodes, *ends, *scan], [port(f"{mark}i", NUMBERS[I64], []), port(f"{mark}go", NUMBERS[BOOL], []), port(f"{mark}s", kind, a.shape)],
                 [port(f"{mark}on", NUMBERS[BOOL], []), port(last, kind, a.shape), port(f"{mark}y", kind, a.shape)])
    times = m.put(np.array(m.whole(0 if m.chance(0.2) else 1, 4), np.int64), 0.5) if not stops or m.chance(0.5) else None
    go = m.put(np.array(True), 0.7) if m.chance(0.5) else None
    return m.op("Loop", [times, go, state], 2, body=Body(body, [a]))


def written(m: Maker, name: str, nodes: list[bytes], more: bytes = b"") -> bytes:
    """A function of the model: y = name(x)."""
    sets = b"".join(wire.text(9, wire.text(1, domain) + wire.number(2, version)) for domain, version in (("", m.opset), ("own", 1)))
    return wire.text(1, name) + wire.text(4, "x") + wire.text(5, "y") + b"".join(wire.text(7, one) for one in nodes) + sets + wire.text(10, "own") + more


def function(m: Maker, a: Value) -> object:
    """A function of the model, with an attribute that has a default, which calls another one."""
    if "Outer" not in m.named:
        m.named.add("Outer")
        slope = wire.text(5, wire.text(1, "alpha") + wire.text(21, "slope") + wire.number(20, 1))
        inner = written(m, "Inner", [node("LeakyRelu", ["x"], ["l"], slope), node("Neg", ["l"], ["y"])], wire.text(6, "slope"))
        passed = wire.text(5, wire.text(1, "slope") + wire.text(21, "slope") + wire.number(20, 1))
        outer = written(m, "Outer", [node("Inner", ["x"], ["a"], passed, domain="own"), node("Inner", ["a"], ["b"], attribute("slope", 0.5), domain="own"),
                                   node("Add", ["a", "b"], ["y"])],
                        wire.text(11, wire.text(1, "slope") + wire.digits(2 << 3 | 5) + np.float32(0.25).tobytes() + wire.number(20, 1)))
        m.functions += [inner, outer]
    return m.op("Outer", [a], domain="own", **({"slope": float(m.whole(0, 2))} if m.chance(0.5) else {}))

def sequence(m: Maker) -> object:
    """Parts of a tensor in a sequence, one more in it and one less, beside each other again."""
    if m.opset < 11:
        return None
    x = m.take([F32, I64], 1, 3, test=lambda v: v.shape[0] > 1, make=lambda: m.fresh(F32, [m.whole(2, 5), 2]))
    fresh, axis = m.whole(0, 1), m.axis(x.array.ndim)
    name = f"Parts{len(m.functions)}"
    nodes = [node("Constant", [], ["one"], attribute("value", np.array(1, np.int64))),
             node("Constant", [], ["at"], attribute("value", np.array(m.one([0, -1, 1]), np.int64))),
             node("SplitToSequence", ["x", "one"] if m.chance(0.5) else ["x"], ["s"], attribute("axis", 0)), node("SequenceAt", ["s", "at"], ["part"]),
             node("SequenceInsert", ["s", "part", "at"] if m.chance(0.5) else ["s", "part"], ["longer"]),
             node("SequenceErase", ["longer", "at"] if m.chance(0.5) else ["longer"], ["t"]),
             node("ConcatFromSequence", ["t"], ["y"], attribute("axis", 0 if fresh else axis), attribute("new_axis", fresh))]
    m.functions.append(written(m, name, nodes))
    return m.op(name, [x], domain="own")


LAYERS = [conv, conv, pool, norm, product, product, resized, resized, quantized, recurrent, control, control, sequence]
