#!/usr/bin/env python3
"""Runs llama.cpp's own benchmarks through the ggml plug-in of a bundle, and prints one table with what was aimed for.

usage: llama_report.py BUNDLE_DIR MODEL_DIR [--json OUT.json] [--only ops|models]

BUNDLE_DIR comes from `./weft bundle DIR --with-llama`. MODEL_DIR holds llama-8b-q4_0.gguf and llama-1b-q4_0.gguf (random
weights in the real shapes are enough); a model that is not there is left out.
"""
import argparse
import datetime
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
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


# (name, op, params regex, quantity, bar).
OPS = [
    ("q4_0 x f32, m=4096 n=512 k=14336", "MUL_MAT", "type_a=q4_0,type_b=f32,m=4096,n=512,k=14336", "TFLOP/s", 100),
    ("q4_K x f32, m=4096 n=512 k=14336", "MUL_MAT", "type_a=q4_K,type_b=f32,m=4096,n=512,k=14336", "TFLOP/s", 100),
    ("f16 x f32, m=4096 n=512 k=14336", "MUL_MAT", "type_a=f16,type_b=f32,m=4096,n=512,k=14336", "TFLOP/s", None),
    ("bf16 x f32, m=4096 n=512 k=14336", "MUL_MAT", "type_a=bf16,type_b=f32,m=4096,n=512,k=14336", "TFLOP/s", None),
    ("q4_0 x f32, n=8", "MUL_MAT", "type_a=q4_0,type_b=f32,m=4096,n=8,k=14336", "TFLOP/s", 12),
    ("q4_K x f32, n=8", "MUL_MAT", "type_a=q4_K,type_b=f32,m=4096,n=8,k=14336", "TFLOP/s", 12),
    ("q4_0 matrix times vector", "MUL_MAT", "type_a=q4_0,type_b=f32,m=4096,n=1,k=14336", "weights GB/s", 2000),
    ("q4_K matrix times vector", "MUL_MAT", "type_a=q4_K,type_b=f32,m=4096,n=1,k=14336", "weights GB/s", None),
    ("q8_0 matrix times vector", "MUL_MAT", "type_a=q8_0,type_b=f32,m=4096,n=1,k=14336", "weights GB/s", None),
    ("f16 matrix times vector", "MUL_MAT", "type_a=f16,type_b=f32,m=4096,n=1,k=14336", "weights GB/s", None),
]
BITS = {"q4_0": 4.5, "q4_K": 4.5, "q8_0": 8.5, "f16": 16}
# Cases that test-backend-ops does not have but reads from a file, one per line: op, type, extents, words of parameters, then
# the sources (type, extents, strides in bytes), and a name. The numbers are those of ggml.h's enums. Each is
# (name, line, bytes that it has to move, bar in GB/s).
SIDE = 4096
TENSOR = f"0 {SIDE} {SIDE} 1 1"
SOURCE = f"{TENSOR} 4 {4 * SIDE} {4 * SIDE * SIDE} {4 * SIDE * SIDE}"
EPSILON = 0x358637BD  # 1e-6 as the bits of a float
FILE_OPS = [
    ("RMS_NORM 4096x4096", f"25 {TENSOR} 1 {EPSILON} 1 {SOURCE} rms_norm_4096", 2 * 4 * SIDE * SIDE, 2800),
    ("ADD 4096x4096", f"2 {TENSOR} 0 2 {SOURCE} {SOURCE} add_4096", 3 * 4 * SIDE * SIDE, 3500),
]
MODELS = [  # (file, test of llama-bench, bar in tokens/s)
    ("llama-8b-q4_0.gguf", {"pp512": 5000, "tg64": 180}),
    ("llama-1b-q4_0.gguf", {"pp512": 20000, "tg64": 450}),
]
# (file, options of llama-bench, bars): longer prompts, and what comes behind many tokens.
LONG = [
    ("llama-8b-q4_0.gguf", ["-p", "2048", "-n", "0"], {"pp2048": 11400}),
    ("llama-8b-q4_0.gguf", ["-p", "512", "-n", "32", "-d", "8192"], {"pp512 at 8192": 9100, "tg32 at 8192": 290}),
    ("llama-8b-q4_0.gguf", ["-p", "0", "-n", "32", "-d", "16384"], {"tg32 at 16384": 250}),
]


def best_time(*options: str) -> float | None:
    """Seconds of the fastest case that the options leave; of all formats, only SQL has the times."""
    script = run("test-backend-ops", "perf", "-b", arguments.device, *options, "--output", "sql")
    database = sqlite3.connect(":memory:")
    database.executescript("\n".join(line for line in script.splitlines() if re.match(r"CREATE |INSERT |  \w|\);", line)))
    (time,) = database.execute("SELECT min(time_us) FROM test_backend_ops WHERE time_us > 0").fetchone()
    return time and time * 1e-6


def measure_ops() -> list[dict]:
    rows = []
    for label, op, params, quantity, bar in OPS:
        seconds = best_time("-o", op, "-p", params)
        if not seconds:
            print(f"{label}: no result", file=sys.stderr)
            continue
        m, n, k = (int(x) for x in re.search(r"m=(\d+),n=(\d+),k=(\d+)", params).groups())
        kind = re.search(r"type_a=(\w+)", params).group(1)
        value = 2 * m * n * k / seconds * 1e-12 if quantity == "TFLOP/s" else m * k * BITS[kind] / 8 / seconds * 1e-9
        rows.append({"name": label, "seconds": seconds, "value": value, "unit": quantity, "bar": bar})
    for label, line, moved, bar in FILE_OPS:
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            print(line, file=file, flush=True)
            seconds = best_time("--test-file", file.name)
        if not seconds:
            print(f"{label}: no result", file=sys.stderr)
            continue
        rows.append({"name": label, "seconds": seconds, "value": moved / seconds * 1e-9, "unit": "GB/s", "bar": bar})
    return rows


def measure_models() -> list[dict]:
    rows = []
    jobs = [(file, ["-p", "512", "-n", "64", "-fa", "0,1"], bars) for file, bars in MODELS]
    jobs += [(file, [*options, "-fa", "1"], bars) for file, options, bars in LONG]
    for file, options, bars in jobs:
        path = (arguments.models / file).resolve()
        if not path.exists():
            continue
        out = run("llama-bench", "-m", str(path), *options, "-ngl", "99", "-r", "3", "-o", "json")
        for result in json.loads(out) if out.strip() else []:
            test = f"pp{result['n_prompt']}" if result["n_prompt"] else f"tg{result['n_gen']}"
            if result["n_depth"]:
                test += f" at {result['n_depth']}"
            rows.append({"name": f"{path.stem} {test} fa={int(result['flash_attn'])}", "value": result["avg_ts"], "unit": "tokens/s",
                         "bar": bars.get(test), "repetitions": result["samples_ts"]})
    return rows


results = ([] if arguments.only == "models" else measure_ops()) + ([] if arguments.only == "ops" else measure_models())
print(f"{'work':<44} {'measured':>10} {'':<13} {'bar':>8}")
for row in results:
    met = "" if row["bar"] is None else "met" if row["value"] >= row["bar"] else "missed"
    print(f"{row['name']:<44} {row['value']:>10.1f} {row['unit']:<13} {row['bar'] or '':>8} {met}")
if arguments.json:
    report = {"date": datetime.date.today().isoformat(), "command": " ".join(["tools/llama_report.py", *sys.argv[1:]]), "results": results}
    arguments.json.write_text(json.dumps(report, indent=1) + "\n")
