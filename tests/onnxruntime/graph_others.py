"""What random graphs are made of, part 3: attention, tables of learners, and operations of com.microsoft."""
from __future__ import annotations

import numpy as np
from graph_layers import image
from graphs import F16, F32, I64, LEARNERS, MICROSOFT, U8, Maker, Value


def attention(m: Maker) -> object:
    """Attention and RotaryEmbedding of ONNX's own, as of opset 23."""
    if m.opset < 23:
        if m.nodes:
            return None
        m.opset = 23
    batch, length, keys, heads, size = m.whole(1, 2), m.whole(1, 5), m.whole(1, 6), m.whole(1, 2), 2 * m.whole(1, 4)
    shared = heads * m.whole(1, 2)
    kind = m.one([F32, F32, F16])
    if m.chance(0.3):
        angles = m.random.uniform(0, 3, [12, size // 2])
        at = m.put(m.random.integers(0, 12, [batch, length]))
        tables = [m.put(one(angles).astype(kind), 0.8) for one in (np.cos, np.sin)]
        return m.op("RotaryEmbedding", [m.fresh(kind, [batch, heads, length, size]), *tables, at], interleaved=m.whole(0, 1))
    past = m.whole(0, 3)
    wide = 4 if kind == F32 else 1  # ONNX Runtime keeps scores of f16 in f16.
    q = m.put(m.elements(kind, [batch, shared, length, size], -wide, wide))
    kv = [m.put(m.elements(kind, [batch, heads, keys, size], -wide, wide)) for _ in range(2)]
    mask = None
    if m.chance(0.5):
        shape = [length, keys + past] if m.chance(0.5) else [batch, 1, length, keys + past]
        seen = m.random.random(shape) < 0.7
        seen[..., 0] = True  # What a query without keys gives is nobody's promise.
        mask = m.put(seen if m.chance(0.5) else np.where(seen, 0, -4).astype(kind))
    cache = [m.fresh(kind, [batch, heads, past, size]) for _ in range(2)] if past else []
    more: dict[str, object] = {"is_causal": m.whole(0, 1)} if not past and keys == length else {}  # ends or starts meet
    if m.chance(0.3):
        more["scale"] = 0.3
    if m.chance(0.2):
        more["softcap"] = 3.0
    inputs = [q, *kv, mask, *cache] if past else [q, *kv, mask] if mask else [q, *kv]
    return m.op("Attention", inputs, 3 if past else 1, **more)


def learner(m: Maker) -> object:
    op = m.one(["Scaler", "Normalizer", "Imputer", "FeatureVectorizer", "OneHotEncoder", "LinearRegressor", "LinearClassifier", "Binarizer",
                "ArrayFeatureExtractor", "LabelEncoder"])  # fmt: skip
    rows, columns = m.whole(1, 6), m.whole(1, 5)
    x = m.fresh(F32, [rows, columns])

    def some(count: int) -> list[float]:
        return [float(one) for one in m.elements(F32, [count])]

    def call(inputs: list[Value | None], outputs: int = 1, **attributes: object) -> object:
        return m.op(str(op), inputs, outputs, LEARNERS, **attributes)

    if op == "Scaler":
        return call([m.fresh(m.one([F32, I64]), [rows, columns])], offset=some(columns), scale=some(columns))
    if op == "Normalizer":
        return call([x], norm=m.one(["MAX", "L1", "L2"]))
    if op == "Imputer":
        return call([x], imputed_value_floats=some(int(m.one([1, columns]))), replaced_value_float=0.5)
    if op == "FeatureVectorizer":
        return call([x, m.fresh(F32, [rows, 2])], inputdimensions=[columns, 2])
    if op == "OneHotEncoder":
        return call([m.fresh(I64, [rows, columns], 0, 5)], cats_int64s=[1, 5, 2, 0])
    if op == "LinearRegressor":
        return call([x], coefficients=some(2 * columns), intercepts=some(2), targets=2)
    if op == "LinearClassifier":
        count = m.whole(2, 4)
        return call([x], 2, coefficients=some(count * columns), intercepts=some(count), classlabels_ints=list(range(5, 5 + count)),
                    post_transform=m.one(["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"]))
    if op == "Binarizer":
        return call([x], threshold=0.5)
    if op == "ArrayFeatureExtractor":
        return call([x, m.put(m.random.integers(0, columns, m.whole(1, 4)))])
    return call([m.fresh(I64, [rows, columns], 0, 5)], keys_int64s=[1, 3, 0], values_int64s=[7, 8, 9], default_int64=-5)


def microsoft(m: Maker) -> object:
    op = m.one(["BiasGelu", "FastGelu", "QuickGelu", "SkipLayerNormalization", "FusedMatMul", "RotaryEmbedding", "MatMulNBits", "FusedConv", "Attention",
                "MultiHeadAttention", "GroupQueryAttention", "QLinearAdd"])
    batch, length, heads, size = m.whole(1, 2), m.whole(1, 5), m.whole(1, 3), int(m.one([2, 4, 6, 8, 16]))
    width = heads * size

    def call(inputs: list[Value | None], outputs: int | list[bool] = 1, **attributes: object) -> object:
        return m.op(str(op), inputs, outputs, MICROSOFT, **attributes)

    x = m.fresh(F32, [batch, length, width])
    if op in ("BiasGelu", "FastGelu", "QuickGelu"):
        return call([x, m.fresh(F32, [width])] if op != "QuickGelu" else [x], **({"alpha": 1.5} if op == "QuickGelu" else {}))
    if op == "SkipLayerNormalization":
        return call([x, m.fresh(F32, x.shape), *[m.fresh(F32, [width]) for _ in range(m.whole(1, 3))]], epsilon=1e-3)
    if op == "FusedMatMul":
        ta, tb = m.whole(0, 1), m.whole(0, 1)
        b = m.fresh(F32, [batch, 3, length if ta else width] if tb else [batch, length if ta else width, 3])
        return call([x, b], transA=ta, transB=tb, alpha=0.5)
    if op == "FusedConv":
        y = image(m, 2, kinds=[F32])
        return call([y, m.fresh(F32, [3, y.shape[1], 1, 2]), m.fresh(F32, [3])], activation=m.one(["Relu", "Tanh", "Sigmoid"]))
    if op == "MatMulNBits":
        bits, block = 4, int(m.one([16, 32]))
        blocks, columns = (width + block - 1) // block, m.whole(1, 6)
        weight = m.put(m.random.integers(0, 256, [columns, blocks, block * bits // 8]).astype(np.uint8), 1)
        scales = m.put((m.random.integers(1, 9, columns * blocks) / 16).astype(np.float32), 1)
        zeros = [m.put(m.random.integers(0, 256, columns * ((blocks + 1) // 2)).astype(np.uint8), 1)] if m.chance(0.5) else []
        return call([x, weight, scales, *zeros], K=width, N=columns, bits=bits, block_size=block)
    if op == "QLinearAdd":
        def with_scale(shape: list[int]) -> list[Value]:
            return [m.fresh(U8, shape, 0, 200), m.put(np.array(0.02, np.float32), 1), m.put(np.array(m.whole(0, 9), np.uint8), 1)]

        return call([*with_scale([batch, width]), *with_scale([width]), m.put(np.array(0.05, np.float32), 1), m.put(np.array(7, np.uint8), 1)])
    angles = m.random.uniform(0, 3, [16, size // 2]).astype(np.float32)
    tables = [m.put(np.cos(angles), 0.8), m.put(np.sin(angles), 0.8)]
    if op == "RotaryEmbedding":
        at = m.put(m.random.integers(0, 16 - length, [batch, length]) if m.chance(0.5) else np.array([m.whole(0, 9)], np.int64))
        return call([m.fresh(F32, [batch, heads, length, size]), at, *tables], interleaved=m.whole(0, 1))
    if op == "Attention":
        mask = m.one([m.random.integers(1, length + 1, batch), m.random.integers(0, 2, [batch, length])])
        mask = m.put(mask.astype(np.int32)) if m.chance(0.6) else None
        past = m.fresh(F32, [2, batch, heads, m.whole(1, 3), size]) if mask is None and m.chance(0.4) else None
        inputs = [x, m.fresh(F32, [width, 3 * width], -1, 1, 0.8), m.fresh(F32, [3 * width], -1, 1, 0.8), mask, past]
        return call(inputs if past else inputs[:4] if mask else inputs[:3], 2 if past else 1, num_heads=heads, unidirectional=m.whole(0, 1))
    if op == "MultiHeadAttention":
        keys = m.whole(1, 6)
        inputs = [x, m.fresh(F32, [batch, keys, width]), m.fresh(F32, [batch, keys, width]), m.fresh(F32, [3 * width]) if m.chance(0.5) else None, None,
                  m.fresh(F32, [m.one([1, batch]), heads, length, keys]) if m.chance(0.5) else None]
        return call(inputs, num_heads=heads, **({"scale": 0.3} if m.chance(0.3) else {}), **({"unidirectional": 1} if keys == length and m.chance(0.5) else {}))
    shared = int(m.one([n for n in range(1, heads + 1) if heads % n == 0]))
    past = m.whole(0, 4)
    rotary, packed = m.whole(0, 1) if size % 16 == 0 else 0, m.chance(0.4)
    cache = [m.fresh(F32, [batch, shared, past, size]) for _ in range(2)] if past else [None, None]
    steps = length if not past or m.chance(0.3) else 1
    q = m.fresh(F32, [batch, steps, width + (2 * shared * size if packed else 0)])
    kv = [None, None] if packed else [m.fresh(F32, [batch, steps, shared * size]) for _ in range(2)]
    total = past + steps
    inputs = [q, *kv, *cache, m.put(np.full(batch, total - 1, np.int32), 0.4), m.put(np.array(total, np.int32), 0.4), *(tables if rotary else [])]
    more = {"local_window_size": m.whole(1, 4)} if m.chance(0.3) else {}
    if m.chance(0.3):
        more["softcap"] = 5.0
    return call(inputs, 3, num_heads=heads, kv_num_heads=shared, do_rotary=rotary, **more)



OTHERS = [attention, learner, microsoft, microsoft]
