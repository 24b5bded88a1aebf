#!/usr/bin/env python3
"""Runs llama.cpp's own benchmarks through the ggml plug-in of a bundle, and prints one table with what was aimed for.

usage: llama_report.py BUNDLE_DIR MODEL_DIR [--json OUT.json] [--only ops|models]

BUNDLE_DIR comes from `./weft bundle DIR --with-llama`. MODEL_DIR holds llama-8b-q4_0.gguf and llama-1b-q4_0.gguf (random
weights in the real shapes are enough); a model that is not there is left out.
"""
import argparse
import csv
import datetime
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("bundle", type=Path)
parser.add_argument("models", type=Path)
parser.add_argument("--json", type=Path)
parser.add_argument("--only", choices=["ops", "models"])
parser.add_argument("--device", default="WEFT0")
arguments = parser.parse_args()
bundle = arguments.bundle.resolve()
environment = {**os.environ, "GGML_BACKEND_PATH": str(bundle / "lib/libggml-weft.so")}


def run(program: str, *options: str) -> str:
    # ggml looks for its CPU backends in the working directory.
    done = subprocess.run([str(bundle / program), *options], cwd=bundle / "lib", env=environment, text=True, capture_output=True)
    if done.returncode != 0:
        print(f"{program} {' '.join(options)} failed with {done.returncode}:\n{done.stderr[-2000:]}", file=sys.stderr)
    return done.stdout


# (name, ops, params regex, quantity, bar): matrix products in TFLOP/s, the rest in GB/s.
OPS = [
    ("q4_0 x f32, m=4096 n=512 k=14336", "MUL_MAT", "type_a=q4_0,type_b=f32,m=4096,n=512,k=14336", "TFLOP/s", 100),
    ("q4_K x f32, m=4096 n=512 k=14336", "MUL_MAT", "type_a=q4_K,type_b=f32,m=4096,n=512,k=14336", "TFLOP/s", 100),
    ("f16 x f32, m=4096 n=512 k=14336", "MUL_MAT", "type_a=f16,type_b=f32,m=4096,n=512,k=14336", "TFLOP/s", None),
    ("q4_0 x f32, n=8", "MUL_MAT", "type_a=q4_0,type_b=f32,m=4096,n=8,k=14336", "TFLOP/s", 12),
    ("q4_K x f32, n=8", "MUL_MAT", "type_a=q4_K,type_b=f32,m=4096,n=8,k=14336", "TFLOP/s", 12),
    ("q4_0 matrix times vector", "MUL_MAT", "type_a=q4_0,type_b=f32,m=4096,n=1,k=14336", "weights GB/s", 2000),
    ("q4_K matrix times vector", "MUL_MAT", "type_a=q4_K,type_b=f32,m=4096,n=1,k=14336", "weights GB/s", None),
    ("q8_0 matrix times vector", "MUL_MAT", "type_a=q8_0,type_b=f32,m=4096,n=1,k=14336", "weights GB/s", None),
    ("f16 matrix times vector", "MUL_MAT", "type_a=f16,type_b=f32,m=4096,n=1,k=14336", "weights GB/s", None),
]
BITS = {"q4_0": 4.5, "q4_K": 4.5, "q8_0": 8.5, "f16": 16}
MODELS = [  # (file, test of llama-bench, bar in tokens/s)
    ("llama-8b-q4_0.gguf", {"pp512": 5000, "tg64": 180}),
    ("llama-1b-q4_0.gguf", {"pp512": 20000, "tg64": 450}),
]


def measure_ops() -> list[dict]:
    rows = []
    for label, op, params, quantity, bar in OPS:
        out = run("test-backend-ops", "perf", "-b", arguments.device, "-o", op, "-p", params, "--output", "csv")
        table = csv.DictReader(io.StringIO(out))
        times = [float(row["time_us"]) for row in table if float(row.get("time_us") or 0) > 0]
        if not times:
            print(f"{label}: no result", file=sys.stderr)
            continue
        seconds = min(times) * 1e-6
        m, n, k = (int(x) for x in re.search(r"m=(\d+),n=(\d+),k=(\d+)", params).groups())
        kind = re.search(r"type_a=(\w+)", params).group(1)
        value = 2 * m * n * k / seconds * 1e-12 if quantity == "TFLOP/s" else m * k * BITS[kind] / 8 / seconds * 1e-9
        rows.append({"name": label, "seconds": seconds, "value": value, "unit": quantity, "bar": bar})
    return rows


def measure_models() -> list[dict]:
    rows = []
    for file, bars in MODELS:
        path = (arguments.models / file).resolve()
        if not path.exists():
            continue
        out = run("llama-bench", "-m", str(path), "-p", "512", "-n", "64", "-fa", "0,1", "-ngl", "99", "-r", "3", "-o", "json")
        for result in json.loads(out) if out.strip() else []:
            test = f"pp{result['n_prompt']}" if result["n_prompt"] else f"tg{result['n_gen']}"
            rows.append({"name": f"{path.stem} {test} fa={int(result['flash_attn'])}", "value": result["avg_ts"], "unit": "tokens/s",
                         "bar": bars.get(test)})
    return rows


results = ([] if arguments.only == "models" else measure_ops()) + ([] if arguments.only == "ops" else measure_models())
print(f"{'work':<44} {'measured':>10} {'':<13} {'bar':>8}")
for row in results:
    met = "" if row["bar"] is None else "met" if row["value"] >= row["bar"] else "missed"
    print(f"{row['name']:<44} {row['value']:>10.1f} {row['unit']:<13} {row['bar'] or '':>8} {met}")
if arguments.json:
    report = {"date": datetime.date.today().isoformat(), "command": " ".join(["tools/llama_report.py", *sys.argv[1:]]), "results": results}
    arguments.json.write_text(json.dumps(report, indent=1) + "\n")
