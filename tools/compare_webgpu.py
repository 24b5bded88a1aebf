#!/usr/bin/env python3
"""Times single ggml ops on Weft and on llama.cpp's own WebGPU backend, on the same adapter, and prints one table.

usage: compare_webgpu.py LIBGGML-WEBGPU.SO [--preset P] [--part OP] [--rounds N] [--wall]
                         [--json docs/performance-webgpu.json --commit ID --adapter NAME]

Inside the environment, after tools/build with the target ggml-op-times. The other backend is built from the source that
env/llama fetches, with the same Dawn: `compare_webgpu.py --build DIR` does that and prints the library's name. Both run
in turns, and the best of the times counts: by default processor time, which is what an op costs on a software adapter and
which other work on the machine does not disturb; --wall takes the time on the clock (for a GPU).
"""
import argparse
import datetime
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def build(folder: Path) -> Path:
    """One library, as ggml loads it at run time; only facts about it are of interest here, so -O2 is enough."""
    release = next(line.partition("=")[2] for line in (ROOT / "env/common.sh").read_text().splitlines()
                   if line.startswith("llama_release="))
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "weft" / f"llama-{release}"
    source = cache / "src/ggml/src/ggml-webgpu"
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / "libggml-webgpu.so"
    subprocess.run([sys.executable, source / "wgsl-shaders/embed_wgsl.py", "--input_dir", source / "wgsl-shaders",
                    "--output_file", folder / "ggml-wgsl-shaders.hpp"], check=True)
    subprocess.run(["g++", "-std=c++20", "-O2", "-w", "-fPIC", "-shared", "-DGGML_BACKEND_DL", "-DGGML_BACKEND_SHARED",
                    "-DGGML_BACKEND_BUILD", "-DGGML_SHARED", "-DNDEBUG", "-I", folder, "-I", cache / "src/ggml/include",
                    "-I", cache / "src/ggml/src", source / "ggml-webgpu.cpp", "-o", library, cache / "lib/libggml-base.so",
                    f"-Wl,-rpath,{cache / 'lib'}", "-lwebgpu_dawn"], check=True)
    return library


def times(program: Path, plugin: Path, device: str, part: str, column: int) -> dict[str, float | None]:
    """Microseconds by op; None where the device does not support it or ended the program."""
    env = os.environ | {"GGML_BACKEND_PATH": str(plugin)}
    found: dict[str, float | None] = {}
    after = ""
    while True:
        done = subprocess.run([program, device, part, after], env=env, capture_output=True, text=True)
        rows = [line.split("\t") for line in done.stdout.splitlines()]
        found |= {row[0]: float(row[column]) if len(row) == 3 and row[column] != "-" else None for row in rows}
        if done.returncode == 0:
            return found
        if not rows or len(rows[-1]) == 3:
            sys.exit(f"weft: {device} ended with {done.returncode}: {done.stderr[-300:]}")
        after = rows[-1][0]
        print(f"weft: {device} ended the program in {after}", file=sys.stderr)


def merged(old: dict, new: dict) -> dict:
    return old | {name: min(value, old[name]) if value and old.get(name) else value for name, value in new.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", nargs="?", type=Path)
    parser.add_argument("--build", type=Path, metavar="DIR")
    parser.add_argument("--preset", default="release")
    parser.add_argument("--part", default="")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--wall", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--commit", default="")
    parser.add_argument("--plugin", type=Path, help="another libggml-weft.so than that of the preset")
    parser.add_argument("--adapter", default="the software adapter (llvmpipe, one thread)")
    args = parser.parse_args()
    if args.build:
        print(build(args.build))
        return 0
    if args.library is None:
        parser.error("name the library of the other backend, or make it with --build")
    folder = ROOT / "build" / args.preset / "plugins" / "ggml"
    plugin = (args.plugin or folder / "libggml-weft.so").resolve()
    ours: dict[str, float | None] = {}
    theirs: dict[str, float | None] = {}
    column = 1 if args.wall else 2
    for _ in range(args.rounds):
        ours = merged(ours, times(folder / "ggml-op-times", plugin, "WEFT0", args.part, column))
        theirs = merged(theirs, times(folder / "ggml-op-times", args.library.resolve(), "WebGPU", args.part, column))
    rows = [{"name": name, "weft_us": us, "webgpu_us": theirs.get(name)} for name, us in ours.items()]
    print(f"{'op':<60} {'Weft us':>10} {'other us':>10} {'times':>6}")
    slower = 0
    for row in rows:
        us, other = row["weft_us"], row["webgpu_us"]
        ratio = other / us if us and other else None
        slower += ratio is not None and ratio < 1
        shown = [f"{value:.1f}" if value else "-" for value in (us, other)]
        print(f"{row['name']:<60} {shown[0]:>10} {shown[1]:>10} {f'{ratio:.2f}' if ratio else '':>6}")
    print(f"{slower} of {sum(bool(r['webgpu_us']) for r in rows)} are slower than the other backend")
    if args.json:
        command = f"tools/compare_webgpu.py {args.library.name} --rounds {args.rounds}"
        report = {"date": datetime.date.today().isoformat(), "command": command, "commit": args.commit, "adapter": args.adapter,
                  "clock": "wall" if args.wall else "processor", "results": rows}
        args.json.write_text(json.dumps(report, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
