#!/usr/bin/env python3
"""Runs llama.cpp's own benchmarks through the ggml plug-in of a bundle and through other backends, and prints one table with what
was aimed for.

usage: llama_report.py BUNDLE_DIR MODEL_DIR [--peer NAME=LIBRARY:DEVICE…] [--json OUT.json] [--only ops|models] [--quick] [--resume]

BUNDLE_DIR comes from `./weft bundle DIR --with-llama`. MODEL_DIR holds llama-8b-q4_0.gguf, llama-8b-f16.gguf and llama-1b-q4_0.gguf
(random weights in the real shapes are enough: random_llama.py); a model that is not there is left out. Peers are backends of the same release of
ggml: --peer cuda=/path/libggml-cuda.so:CUDA0 --peer vulkan=/path/libggml-vulkan.so:Vulkan0 (gpu_measure builds the one and finds the other).
--quick takes a sixteenth of all depths and tokens, to see that everything works. --resume goes on where a run that wrote OUT.json was ended.
"""
import argparse
import dataclasses
import datetime
import functools
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("bundle", type=Path)
parser.add_argument("models", type=Path)
parser.add_argument("--json", type=Path)
parser.add_argument("--only", choices=["ops", "models"])
parser.add_argument("--device", default="WEFT0")
parser.add_argument("--quick", action="store_true")
parser.add_argument("--resume", action="store_true")
parser.add_argument("--peer", action="append", default=[], metavar="NAME=LIBRARY:DEVICE", help="another backend to measure beside")


@dataclasses.dataclass
class Backend:
    name: str
    library: Path
    device: str


def peer_of(text: str) -> Backend:
    found = re.fullmatch(r"([^=]+)=(.+):([^:]+)", text)
    if not found:
        sys.exit(f"--peer {text}: it must be NAME=LIBRARY:DEVICE, as in cuda=/path/libggml-cuda.so:CUDA0.")
    return Backend(found[1], Path(found[2]).resolve(), found[3])


arguments = parser.parse_args()
bundle = arguments.bundle.resolve()
backends = [Backend("weft", bundle / "lib/libggml-weft.so", arguments.device), *map(peer_of, arguments.peer)]


def run(backend: Backend, program: str, *options: str) -> str:
    # ggml looks for its CPU backends in the working directory.
    done = subprocess.run([str(bundle / program), *options], cwd=bundle / "lib", text=True, capture_output=True,
                          env={**os.environ, "GGML_BACKEND_PATH": str(backend.library)}, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        print(f"{backend.name}: {program} {' '.join(options)} failed with {done.returncode}:\n{done.stderr[-2000:]}", file=sys.stderr)
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
# Products of some columns, between those of one and those of a prompt: (type of the weights, columns, bar in microseconds).
MUL_MAT = 29
TYPES = {"f16": (1, 1, 2), "q4_0": (2, 32, 18), "q8_0": (8, 32, 34), "q4_K": (12, 256, 144)}  # number, elements and bytes of a block
ROWS, TERMS = 4096, 14336
COLUMNS = [("q4_0", 8, None), ("q4_0", 12, None), ("q4_0", 16, 45), ("q4_0", 24, None), ("q4_0", 32, 60), ("q4_0", 64, 85),
           *((kind, n, None) for kind in ("q4_K", "q8_0") for n in (12, 16, 24, 32, 64)),
           ("f16", 8, 38), ("f16", 12, None), ("f16", 16, 36), ("f16", 24, None), ("f16", 32, None), ("f16", 64, None)]
MODELS = [  # (file, test of llama-bench, bar in tokens/s)
    ("llama-8b-q4_0.gguf", {"pp512": 5000, "tg64": 180}),
    ("llama-8b-f16.gguf", {"pp512": 16000, "tg64": 205}),
    ("llama-1b-q4_0.gguf", {"pp512": 39500, "tg64": 450}),
]
# (file, options of llama-bench, bars): longer prompts, and what comes behind many tokens.
LONG = [
    ("llama-8b-q4_0.gguf", ["-p", "2048", "-n", "0"], {"pp2048": 11400}),
    ("llama-8b-q4_0.gguf", ["-p", "512", "-n", "32", "-d", "8192"], {"pp512 at 8192": 9100, "tg32 at 8192": 290}),
    ("llama-8b-q4_0.gguf", ["-p", "0", "-n", "32", "-d", "16384"], {"tg32 at 16384": 250}),
    # A depth that came in no row before: what the first repetition takes longer is planning, recording and compiling.
    ("llama-8b-q4_0.gguf", ["-p", "0", "-n", "32", "-d", "4096"], {}),
]
# Sequences that are decoded at once, as a server does it.
SEQUENCES = ("llama-8b-q4_0.gguf", 16, 1024, 64)


def product_line(kind: str, columns: int) -> str:
    """A product in the words of test-backend-ops --test-file."""
    number, elements, size = TYPES[kind]
    row = TERMS // elements * size
    weights = f"{number} {TERMS} {ROWS} 1 1 {size} {row} {row * ROWS} {row * ROWS}"
    x = f"0 {TERMS} {columns} 1 1 4 {4 * TERMS} {4 * TERMS * columns} {4 * TERMS * columns}"
    return f"{MUL_MAT} 0 {ROWS} {columns} 1 1 0 2 {weights} {x} {kind}_{columns}"


def best_time(backend: Backend, *options: str) -> float | None:
    """Seconds of the fastest case that the options leave; of all formats, only SQL has the times."""
    script = run(backend, "test-backend-ops", "perf", "-b", backend.device, *options, "--output", "sql")
    database = sqlite3.connect(":memory:")
    database.executescript("\n".join(line for line in script.splitlines() if re.match(r"CREATE |INSERT |  \w|\);", line)))
    (time,) = database.execute("SELECT min(time_us) FROM test_backend_ops WHERE time_us > 0").fetchone()
    return time and time * 1e-6


def time_of_line(backend: Backend, line: str) -> float | None:
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        print(line, file=file, flush=True)
        return best_time(backend, "--test-file", file.name)


def op_rows(backend: Backend, label: str, op: str, params: str, quantity: str, bar: float | None) -> list[dict]:
    seconds = best_time(backend, "-o", op, "-p", params)
    if not seconds:
        return []
    m, n, k = (int(x) for x in re.search(r"m=(\d+),n=(\d+),k=(\d+)", params).groups())
    kind = re.search(r"type_a=(\w+)", params).group(1)
    value = 2 * m * n * k / seconds * 1e-12 if quantity == "TFLOP/s" else m * k * BITS[kind] / 8 / seconds * 1e-9
    return [{"name": label, "seconds": seconds, "value": value, "unit": quantity, "bar": bar}]


def file_op_rows(backend: Backend, label: str, line: str, moved: int, bar: float | None) -> list[dict]:
    seconds = time_of_line(backend, line)
    return [{"name": label, "seconds": seconds, "value": moved / seconds * 1e-9, "unit": "GB/s", "bar": bar}] if seconds else []


def product_rows(backend: Backend, kind: str, columns: int, bar: float | None) -> list[dict]:
    seconds = time_of_line(backend, product_line(kind, columns))
    name = f"{kind} x f32, m={ROWS} n={columns} k={TERMS}"
    return [{"name": name, "seconds": seconds, "value": seconds * 1e6, "unit": "us", "bar": bar}] if seconds else []


def smaller(count: int) -> int:
    """Tokens, or a part of them with --quick."""
    return max(count // 16, min(count, 1)) if arguments.quick else count


def sequence_rows(backend: Backend) -> list[dict]:
    file, sequences, depth, tokens = SEQUENCES
    path = (arguments.models / file).resolve()
    depth, tokens = smaller(depth), smaller(tokens)
    out = run(backend, "llama-batched-bench", "-m", str(path), "-ngl", "99", "-fa", "on", "-c", str(sequences * (depth + tokens)), "-npp",
              str(depth), "-ntg", str(tokens), "-npl", str(sequences), "--output-format", "jsonl", "-dev", backend.device)
    return [{"name": f"{path.stem} {sequences} sequences at {depth}", "value": result["speed_tg"], "unit": "tokens/s", "bar": None}
            for result in (json.loads(line) for line in out.splitlines() if line.startswith("{"))]


def model_rows(backend: Backend, file: str, options: list[str], bars: dict[str, float]) -> list[dict]:
    path = (arguments.models / file).resolve()
    options = [str(smaller(int(word))) if before in ("-p", "-n", "-d") else word for before, word in zip(["", *options], options, strict=False)]
    out = run(backend, "llama-bench", "-m", str(path), *options, "-ngl", "99", "-r", "3", "-o", "json", "-dev", backend.device)
    rows = []
    for result in json.loads(out) if out.strip() else []:
        test = f"pp{result['n_prompt']}" if result["n_prompt"] else f"tg{result['n_gen']}"
        if result["n_depth"]:
            test += f" at {result['n_depth']}"
        rows.append({"name": f"{path.stem} {test} fa={int(result['flash_attn'])}", "value": result["avg_ts"], "unit": "tokens/s",
                     "bar": bars.get(test), "repetitions": result["samples_ts"]})
        if test == "tg32 at 4096":
            rows.append({"name": f"{path.stem} {test}, first repetition", "value": result["samples_ts"][0], "unit": "tokens/s", "bar": None})
    return rows


def jobs() -> list[Callable[[Backend], list[dict]]]:
    """What is measured, in small steps, each on all backends before the next."""
    ops = [functools.partial(op_rows, label=label, op=op, params=params, quantity=quantity, bar=bar) for label, op, params, quantity, bar in OPS]
    ops += [functools.partial(file_op_rows, label=label, line=line, moved=moved, bar=bar) for label, line, moved, bar in FILE_OPS]
    ops += [functools.partial(product_rows, kind=kind, columns=columns, bar=bar) for kind, columns, bar in COLUMNS]
    runs = [(file, ["-p", "512", "-n", "64", "-fa", "0,1"], bars) for file, bars in MODELS]
    runs += [(file, [*options, "-fa", "1"], bars) for file, options, bars in LONG]
    models = [functools.partial(model_rows, file=file, options=options, bars=bars) for file, options, bars in runs if (arguments.models / file).exists()]
    if (arguments.models / SEQUENCES[0]).exists():
        models.append(sequence_rows)
    return [*([] if arguments.only == "models" else ops), *([] if arguments.only == "ops" else models)]


def line_of(row: dict) -> str:
    enough = row["bar"] is None or (row["value"] <= row["bar"] if row["unit"] == "us" else row["value"] >= row["bar"])
    met = "" if row["bar"] is None else "met" if enough else "missed"
    others = "".join(f" {row.get('peers', {}).get(peer.name) or float('nan'):>10.1f}" for peer in backends[1:])
    return f"{row['name']:<48} {row['value']:>10.1f} {row['unit']:<13} {row['bar'] or '':>8} {met:<6}{others}"


def keep(results: list[dict], done: int) -> None:
    """Writes what was measured so far, by so many jobs: a run that is ended leaves it."""
    if not arguments.json:
        return
    report = {"date": datetime.date.today().isoformat(), "command": " ".join(["tools/llama_report.py", *sys.argv[1:]]), "jobs": done, "results": results}
    fresh = arguments.json.with_suffix(".new")
    fresh.write_text(json.dumps(report, indent=1) + "\n")
    fresh.replace(arguments.json)


def main() -> int:
    earlier = json.loads(arguments.json.read_text()) if arguments.resume and arguments.json and arguments.json.exists() else {}
    results, first = earlier.get("results", []), earlier.get("jobs", 0)
    print(f"{'work':<48} {'measured':>10} {'':<13} {'bar':>8} {'':<6}" + "".join(f" {peer.name:>10}" for peer in backends[1:]))
    for row in results:
        print(line_of(row))
    for number, job in enumerate(jobs()[first:], first + 1):
        rows = job(backends[0])
        beside = {peer.name: {row["name"]: row["value"] for row in job(peer)} for peer in backends[1:]}
        if not rows:
            print(f"{job.keywords if isinstance(job, functools.partial) else SEQUENCES}: no result", file=sys.stderr)
        for row in rows:
            if beside:
                row["peers"] = {name: values.get(row["name"]) for name, values in beside.items()}
            print(line_of(row), flush=True)
        results += rows
        keep(results, number)
    return 0 if results else 1


sys.exit(main())
