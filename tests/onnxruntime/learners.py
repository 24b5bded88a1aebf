"""Models of tables (the domain ai.onnx.ml): Weft against ONNX Runtime's CPU."""
from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from contrib import FLOAT, RANDOM, Case, whole
from provider import floats


def learner(op: str, x: np.ndarray, outputs: Sequence[int] = (FLOAT,), **attributes: int | float | str | list[int] | list[float] | list[str]) -> Case:
    return Case(op, [x], attributes, outputs, domain="ai.onnx.ml")


def some(*shape: int) -> list[float]:
    return [float(one) for one in floats(*shape).ravel()]


def forest(kind: str, targets: int, rows: int = 9, one_sided: bool = False, negative: bool = True, **more: int | float | str | list[int] | list[float]) -> Case:
    """Three full trees of seven nodes over four columns, one of whose values is missing."""
    trees, nodes = np.repeat(np.arange(3), 7), np.tile(np.arange(7), 3)
    modes = [str(RANDOM.choice(["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT"])) if node < 3 else "LEAF" for node in nodes]
    leaves = [(int(t), int(n)) for t, n in zip(trees, nodes, strict=True) if n >= 3]
    votes = [(t, n, k) for t, n in leaves for k in range(1 if one_sided else targets) if one_sided or k == (t + n) % targets or RANDOM.random() < 0.5]
    x = floats(rows, 4)
    x[0, 0] = np.nan
    weights = [float(one) for one in (RANDOM.standard_normal(len(votes)) if negative else RANDOM.random(len(votes)) / 3)]
    labels = {"classlabels_int64s": list(range(10, 10 + targets))} if kind == "class" else {"n_targets": targets}
    return learner("TreeEnsembleClassifier" if kind == "class" else "TreeEnsembleRegressor", x, (7, FLOAT) if kind == "class" else (FLOAT,),
                   nodes_treeids=trees.tolist(), nodes_nodeids=nodes.tolist(), nodes_featureids=[int(one) for one in RANDOM.integers(0, 4, 21)],
                   nodes_values=some(21), nodes_modes=modes, nodes_truenodeids=[2 * int(n) + 1 if n < 3 else 0 for n in nodes],
                   nodes_falsenodeids=[2 * int(n) + 2 if n < 3 else 0 for n in nodes],
                   nodes_missing_value_tracks_true=[int(one) for one in RANDOM.integers(0, 2, 21)],
                   **{f"{kind}_treeids": [t for t, _, _ in votes], f"{kind}_nodeids": [n for _, n, _ in votes], f"{kind}_ids": [k for _, _, k in votes],
                      f"{kind}_weights": weights}, **labels, **more)


def scores_only(case: Case) -> Case:
    """Without the labels: for two classes that both have votes, ONNX Runtime gives 1 or 0 in place of one of the labels."""
    case.valid = lambda results: results[1:]
    return case


CASES: dict[str, Callable[[], Case]] = {
    "scaler": lambda: learner("Scaler", floats(4, 3), offset=some(3), scale=some(3)),
    "scaler_of_whole_numbers": lambda: learner("Scaler", whole(-9, 9, np.int64, 4, 3), offset=some(1), scale=some(1)),
    "normalizer_max": lambda: learner("Normalizer", floats(4, 3), norm="MAX"),
    "normalizer_l1": lambda: learner("Normalizer", floats(4, 3), norm="L1"),
    "normalizer_l2": lambda: learner("Normalizer", np.concatenate([floats(4, 3), np.zeros((1, 3), np.float32)]), norm="L2"),
    "imputer": lambda: learner("Imputer", np.where(RANDOM.random((5, 3)) < 0.4, np.nan, floats(5, 3)).astype(np.float32), imputed_value_floats=some(3),
                               replaced_value_float=float("nan")),
    "imputer_of_whole_numbers": lambda: learner("Imputer", whole(0, 3, np.int64, 5, 3), (7,), imputed_value_int64s=[7], replaced_value_int64=2),
    "feature_vectorizer": lambda: Case("FeatureVectorizer", [floats(4, 3), floats(4, 2)], {"inputdimensions": [3, 2]}, domain="ai.onnx.ml"),
    "one_hot_encoder": lambda: learner("OneHotEncoder", whole(0, 6, np.int64, 3, 4), cats_int64s=[1, 5, 2]),
    "linear_regressor": lambda: learner("LinearRegressor", floats(4, 3), coefficients=some(6), intercepts=some(2), targets=2),
    "linear_classifier": lambda: learner("LinearClassifier", floats(9, 3), (7, FLOAT), coefficients=some(12), intercepts=some(4),
                                         classlabels_ints=[4, 7, 1, 9], post_transform="SOFTMAX"),
    "linear_classifier_logistic": lambda: learner("LinearClassifier", floats(9, 3), (7, FLOAT), coefficients=some(6), intercepts=some(2),
                                                  classlabels_ints=[4, 7], post_transform="LOGISTIC", multi_class=1),
    "linear_classifier_of_one": lambda: learner("LinearClassifier", floats(9, 3), (7, FLOAT), coefficients=some(3), intercepts=some(1),
                                                classlabels_ints=[4, 7]),
    "trees_regressor": lambda: forest("target", 2),
    "trees_regressor_average": lambda: forest("target", 1, aggregate_function="AVERAGE", base_values=[0.5]),
    "trees_regressor_least": lambda: forest("target", 2, aggregate_function="MIN"),
    "trees_regressor_largest": lambda: forest("target", 2, aggregate_function="MAX"),
    "trees_regressor_logistic": lambda: forest("target", 2, post_transform="LOGISTIC"),
    "trees_classifier": lambda: forest("class", 3),
    "trees_classifier_softmax": lambda: forest("class", 3, post_transform="SOFTMAX", base_values=[0.1, 0.2, 0.3]),
    "trees_classifier_softmax_zero": lambda: forest("class", 4, post_transform="SOFTMAX_ZERO"),
    "trees_classifier_of_two": lambda: scores_only(forest("class", 2, negative=False)),
    "trees_classifier_one_sided": lambda: forest("class", 2, one_sided=True, negative=False),
    "trees_classifier_one_sided_logistic": lambda: forest("class", 2, one_sided=True, post_transform="LOGISTIC"),
    "trees_classifier_one_sided_base": lambda: forest("class", 2, one_sided=True, post_transform="LOGISTIC", base_values=[0.3]),
    "max_roi_pool": lambda: Case("MaxRoiPool", [floats(2, 3, 8, 9), np.array([[0, 1, 1, 6, 5], [1, 0, 2, 12, 9], [0, 7, 7, 8, 8]], np.float32)],
                                 {"pooled_shape": [2, 3], "spatial_scale": 0.5}, domain=""),
}
