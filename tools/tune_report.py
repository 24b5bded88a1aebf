#!/usr/bin/env python3
"""Runs `weft tune` from a bundle on a GPU machine, then times every benchmark that chooses other kernels for it, with the
result and without, turn by turn, and prints the ratios. Benchmarks that choose the same kernels are not timed: they do the same.

usage: tune_report.py BUNDLE_DIR [--json OUT.json] [--seconds S] [--check-seconds S]
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LEAST = 0.97  # of the speed of what is chosen without tuning

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("bundle", type=Path)
parser.add_argument("--json", default="")
parser.add_argument("--seconds", type=float, default=150, help="for tuning")
parser.add_argument("--check-seconds", type=float, default=120, help="for timing afterwards")
arguments = parser.parse_args()


def weft(*words: str) -> float:
    start = time.monotonic()
    subprocess.run([arguments.bundle / "weft", "tune", *words], check=True, env=os.environ | {"WEFT_TUNE": "off"})
    return time.monotonic() - start


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        tuned, rows = Path(folder, "tuned.txt"), Path(folder, "rows.json")
        took = weft("--file", str(tuned), "--seconds", str(arguments.seconds))
        print(f"tuning took {took:.0f} s ({'within' if took <= 180 else 'OVER'} 3 minutes)\n{tuned.read_text()}", flush=True)
        checked = weft("--check", "--file", str(tuned), "--seconds", str(arguments.check_seconds), "--json", str(rows))
        report = json.loads(rows.read_text())
    report |= {"tune_seconds": took, "check_seconds": checked}
    results = report["results"]
    slower = [row for row in results if row["before"] / row["after"] < LEAST]
    before, after = (sum(row[key] for row in results) for key in ("before", "after"))
    for row in slower:
        print(f"BELOW {LEAST}: {row['name']}: {row['before'] / row['after']:.3f}")
    if results:
        least = min(row["before"] / row["after"] for row in results)
        print(f"the slowest {least:.3f} times as fast; all that changed {before / after:.3f} times: {before * 1e6:.0f} to {after * 1e6:.0f} us")
    if report["changed"] > len(results):
        print(f"{report['changed'] - len(results)} that choose otherwise were not timed: --check-seconds")
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(report, indent=1) + "\n")
    return 1 if slower else 0


sys.exit(main())
