"""Random programs against numpy. A quick sample by default; tools/test_python release --programs 5000 runs so many (--first-program N: from seed N)."""
from __future__ import annotations

from programs import Difference, Program, same_program
from steps import STEPS
from steps_more import STEPS_MORE


def run_program(seed: int) -> None:
    program = Program(seed)
    try:
        for _ in range(8):
            program.one_of([*STEPS, *STEPS_MORE])(program)
        same_program(program)
    except Exception as error:
        raise Difference(f"seed {seed}: {type(error).__name__}: {error}\n{program.text()}") from error


def test_programs(seed: int) -> None:
    run_program(seed)
