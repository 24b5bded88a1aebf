"""What the tests share: a device, comparison with numpy, and the count of passes and failures as the last line."""
from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

import weft as wt

settings.register_profile("weft", max_examples=int(os.environ.get("WEFT_EXAMPLES", "25")), deadline=None, derandomize=True,
                          suppress_health_check=list(HealthCheck))
settings.load_profile("weft")
counts = {"passed": 0, "failed": 0}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--programs", type=int, default=40, help="how many random programs run against numpy; a third as many random gradients")
    parser.addoption("--first-program", type=int, default=0, help="the seed of the first")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        first, count = metafunc.config.getoption("--first-program"), metafunc.config.getoption("--programs")
        metafunc.parametrize("seed", range(first, first + (count if "programs" in metafunc.module.__name__ else -(-count // 3))))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        counts["failed"] += 1
    elif report.when == "call" and report.passed:
        counts["passed"] += 1


def pytest_collectreport(report: pytest.CollectReport) -> None:
    counts["failed"] += report.failed


def pytest_unconfigure() -> None:
    print(f"\n{counts['passed']} passed, {counts['failed']} failed")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.fixture
def device() -> wt.Device:
    return wt.default_device()
