"""Runs every case of test-backend-ops in several processes; a run that was stopped goes on where it was.

One JSON file per op in a folder keeps what is known about the op: the plug-in (by its hash), and the state of every case
that ran. Cases that have a result for the same plug-in are not run again.
"""
import concurrent.futures
import json
import os
import sys
import threading
import time
from pathlib import Path

from ggml_cases import Case, Outcome, Program, Runner

# Longest last, so that an interrupted run has most of the ops; each of the first two takes as long as many others.
LAST = ["MUL_MAT", "MUL_MAT_ID", "MUL_MAT_ID_FUSION", "MUL_MAT_VEC_FUSION", "FLASH_ATTN_EXT"]
SHARES = 24  # Processes for each worker in a whole run: the more, the more evenly the work is spread.
FEWEST, MOST = 40, 400  # Cases in one process: starting takes seconds, and arguments have a limit.


class Store:
    """The results of one plug-in in a folder; without a name for it, those of whichever is there."""

    def __init__(self, folder: Path, program: str = ""):
        self.folder = folder
        self.program = program
        self.device = ""
        self.ops: dict[str, dict] = {}
        folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(folder.glob("*.json")):
            entry = json.loads(path.read_text())
            self.program = self.program or entry["program"]
            if entry["program"] == self.program:
                self.ops[entry["op"]] = entry
                self.device = entry["device"]

    def entry(self, op: str) -> dict:
        return self.ops.setdefault(op, {"op": op, "program": self.program, "device": "", "seconds": 0.0,
                                        "troubles": [], "results": {}})

    def add(self, op: str, outcome: Outcome, seconds: float) -> None:
        entry = self.entry(op)
        entry["results"] |= outcome.results
        entry["seconds"] = round(entry["seconds"] + seconds, 2)
        entry["device"] = self.device = outcome.device or self.device
        self.save(op)

    def save(self, op: str) -> None:
        path = self.folder / f"{op}.json"
        temporary = path.with_suffix(".new")
        temporary.write_text(json.dumps(self.ops[op], indent=0) + "\n")
        temporary.rename(path)

    def results(self) -> dict[str, str]:
        return {name: state for entry in self.ops.values() for name, state in entry["results"].items()}


class FullRun:
    """Every case of some ops."""

    def __init__(self, program: Program, store: Store, able: list[Case]):
        self.runner = Runner(program)
        self.store = store
        self.lock = threading.Lock()
        self.todo: dict[str, list[str]] = {}
        for case in able:
            if str(case) not in store.entry(case.op)["results"]:
                self.todo.setdefault(case.op, []).append(str(case))

    def units(self, jobs: int) -> list[tuple[str, list[str]]]:
        """(op, names) of every process to come."""
        units = []
        size = min(MOST, max(FEWEST, sum(len(names) for names in self.todo.values()) // (jobs * SHARES)))
        for op, names in self.todo.items():
            units += [(op, names[at:at + size]) for at in range(0, len(names), size)]
        rank = {op: at for at, op in enumerate(LAST, 1)}
        return sorted(units, key=lambda unit: rank.get(unit[0], 0))

    def run_unit(self, op: str, names: list[str]) -> None:
        """Runs until every case has a result. One that ends the process is blamed, and the rest goes on without it."""
        left = list(names)
        while left and not self.runner.stopped:
            start = time.monotonic()
            outcome = self.runner.run(left)
            with self.lock:
                self.store.add(op, outcome, time.monotonic() - start)
                if self.runner.stopped:
                    return
                entry = self.store.entry(op)
                left = [name for name in left if name not in entry["results"]]
                if outcome.trouble and left:
                    entry["results"][left.pop(0)] = "FAIL"
                elif left:  # It ended well and did not run them: they do not exist under that name.
                    entry["troubles"].append(f"{len(left)} cases did not run, the first is {left[0]}")
                    left = []
                if outcome.trouble:
                    entry["troubles"].append(outcome.trouble)
                self.store.save(op)

    def run(self, jobs: int, limit: float | None) -> None:
        """Runs everything, or what can be done before the limit (in seconds)."""
        units = self.units(jobs)
        timer = threading.Timer(limit, self.runner.stop) if limit else None
        if timer:
            timer.daemon = True
            timer.start()
        start = time.monotonic()
        pool = concurrent.futures.ThreadPoolExecutor(jobs)
        try:
            futures = {pool.submit(self.run_unit, *unit): unit for unit in units}
            for done, future in enumerate(concurrent.futures.as_completed(futures), 1):
                future.result()
                if not self.runner.stopped:
                    op = futures[future][0]
                    print(f"weft: [{done}/{len(units)}] {op}, {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
        finally:  # An interrupt as well: what runs is ended, what is done is kept.
            self.runner.stop()
            if timer:
                timer.cancel()
            pool.shutdown(cancel_futures=True)


def run_full(program: Program, folder: Path, able: list[Case], jobs: int, limit: float | None) -> Store:
    """Runs what the folder has no results of."""
    store = Store(folder, program.fingerprint())
    run = FullRun(program, store, able)
    cases = sum(len(names) for names in run.todo.values())
    print(f"weft: {cases} cases to run, {len(store.results())} have a result in {folder}", file=sys.stderr, flush=True)
    os.environ.setdefault("LP_NUM_THREADS", "1")  # Several processes share the cores already.
    run.run(jobs, limit)
    return store
