#!/usr/bin/env python3
"""Times single ggml ops on Weft and on llama.cpp's own WebGPU backend, on the same adapter, and prints one table.

usage: compare_webgpu.py LIBGGML-WEBGPU.SO [--preset P] [--part OP] [--state FILE] [--again RATIO]
                         [--report] [--json docs/performance-webgpu.json --commit ID --adapter NAME --note TEXT]

Inside the environment, after tools/build with the target ggml-op-times. The other backend is built from the source that
env/llama fetches, with the same Dawn: `compare_webgpu.py --build DIR` does that and prints the library's name.

Both backends run in one process and take turns of some milliseconds; the best turn of each counts. What has been measured is kept in
the state file (with the fingerprints of both libraries: another build starts anew), and a run that was stopped goes on from
there. --again R measures the ops once more in which Weft is less than R times as fast, on both backends, and keeps the best.
"""
import argparse
import datetime
import hashlib
import json
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LONGEST = 60  # Seconds that one op may take, both compilers included.
COLUMNS = ["wall_us", "processor_us"]


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


def cells(words: list[str]) -> list[dict | None]:
    """The times of each device in the words behind the name of an op."""
    pairs = [words[i:i + 2] for i in range(0, len(words), 2)]
    return [None if pair[0] == "-" else dict(zip(COLUMNS, map(float, pair))) for pair in pairs]


class Timer:
    """ggml-op-times with some devices; started anew when it ends or hangs."""

    def __init__(self, program: Path, devices: list[str]):
        self.program, self.devices = program, devices
        self.process: subprocess.Popen | None = None
        self.lines: queue.Queue[str] = queue.Queue()

    def start(self) -> None:
        self.process = subprocess.Popen([self.program, *self.devices], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.lines = queue.Queue()
        threading.Thread(target=self.read, args=(self.process, self.lines), daemon=True).start()

    @staticmethod
    def read(process: subprocess.Popen, lines: queue.Queue) -> None:
        for line in process.stdout:
            lines.put(line)
        lines.put("")

    def stop(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def time(self, name: str) -> list[dict | None] | None:
        """The times of one op; None when the program ended or hung in it."""
        if self.process is None:
            self.start()
        try:
            self.process.stdin.write(name + "\n")
            self.process.stdin.flush()
            line = self.lines.get(timeout=LONGEST)
        except (queue.Empty, BrokenPipeError):
            line = ""
        words = line.rstrip("\n").split("\t")
        if words[0] != name or len(words) != 1 + 2 * len(self.devices):
            self.stop()
            return None
        return cells(words[1:])


class State:
    """What has been measured with these two libraries, on disk after every op."""

    def __init__(self, path: Path, libraries: list[Path]):
        self.path = path
        self.marks = [hashlib.sha256(library.read_bytes()).hexdigest() for library in libraries]
        old = json.loads(path.read_text()) if path.exists() else {}
        self.results: dict[str, list[dict | None]] = old["results"] if old.get("libraries") == self.marks else {}

    def add(self, name: str, times: list[dict | None]) -> None:
        best = self.results.get(name, times)
        merged = [{key: min(a[key], b[key]) for key in COLUMNS} if a and b else a or b for a, b in zip(best, times)]
        self.results[name] = merged
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps({"libraries": self.marks, "results": self.results}, indent=1) + "\n")


def ratio(times: list[dict | None], clock: str) -> float | None:
    """How many times as fast Weft is."""
    return times[1][clock] / times[0][clock] if times[0] and times[1] else None


def measure(names: list[str], program: Path, devices: list[str], state: State) -> None:
    both = Timer(program, devices)
    alone = [Timer(program, [device]) for device in devices]
    for number, name in enumerate(names):
        times = both.time(name)
        if times is None:  # One of the two does not survive the op; the other is timed without it.
            found = [timer.time(name) for timer in alone]
            times = [one[0] if one else None for one in found]
            for device, one in zip(devices, found):
                if one is None:
                    print(f"weft: {device.rpartition('=')[2]} does not survive {name}", file=sys.stderr)
        state.add(name, times)
        shown = ratio(state.results[name], "processor_us")
        print(f"{number + 1}/{len(names)} {name}: {f'{shown:.2f}' if shown else '-'}", file=sys.stderr, flush=True)
    for timer in [both, *alone]:
        timer.stop()


def table(results: dict[str, list[dict | None]]) -> None:
    print(f"{'op':<64} {'Weft us':>10} {'other us':>10} {'times':>6} {'on the clock':>12}")
    for name, times in results.items():
        shown = [f"{cell['processor_us']:.1f}" if cell else "-" for cell in times]
        ratios = [f"{r:.2f}" if (r := ratio(times, key)) else "" for key in ["processor_us", "wall_us"]]
        print(f"{name:<64} {shown[0]:>10} {shown[1]:>10} {ratios[0]:>6} {ratios[1]:>12}")
    found = [r for times in results.values() if (r := ratio(times, "processor_us"))]
    print(f"{sum(r < 1 for r in found)} of {len(found)} are slower than the other backend")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", nargs="?", type=Path)
    parser.add_argument("--build", type=Path, metavar="DIR")
    parser.add_argument("--preset", default="release")
    parser.add_argument("--part", default="", help="only ops whose name contains it")
    parser.add_argument("--state", type=Path, help="build/PRESET/compare-webgpu.json unless named")
    parser.add_argument("--again", type=float, metavar="RATIO")
    parser.add_argument("--report", action="store_true", help="measure nothing, show what the state file has")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--commit", default="")
    parser.add_argument("--note", action="append", default=[], help="a sentence for the page")
    parser.add_argument("--plugin", type=Path, help="another libggml-weft.so than that of the preset")
    parser.add_argument("--adapter", default="llvmpipe")
    args = parser.parse_args()
    if args.build:
        print(build(args.build))
        return 0
    if args.library is None:
        parser.error("name the library of the other backend, or make it with --build")
    folder = ROOT / "build" / args.preset / "plugins" / "ggml"
    libraries = [(args.plugin or folder / "libggml-weft.so").resolve(), args.library.resolve()]
    devices = [f"{library}={name}" for library, name in zip(libraries, ["WEFT0", "WebGPU"])]
    listed = subprocess.run([folder / "ggml-op-times", "--list"], capture_output=True, text=True, check=True)
    names = [name for name in listed.stdout.splitlines() if args.part in name]
    state = State(args.state or ROOT / "build" / args.preset / "compare-webgpu.json", libraries)
    if not args.report:
        measure([name for name in names if name not in state.results], folder / "ggml-op-times", devices, state)
    if args.again and not args.report:
        close = [name for name in names if (r := ratio(state.results[name], "processor_us")) and r < args.again]
        measure(close, folder / "ggml-op-times", devices, state)
    results = {name: state.results[name] for name in names if name in state.results}
    table(results)
    if args.json:
        rows = [{"name": name, "weft": times[0], "webgpu": times[1]} for name, times in results.items()]
        report = {"date": datetime.date.today().isoformat(), "commit": args.commit, "adapter": args.adapter,
                  "command": f"tools/compare_webgpu.py libggml-webgpu.so{f' --again {args.again}' if args.again else ''}",
                  "longest": LONGEST, "cases": len(names), "notes": args.note}
        head = json.dumps(report, indent=1).removesuffix("\n}")
        lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)  # One line for each case.
        args.json.write_text(f'{head},\n "results": [\n{lines}\n ]\n}}\n')
    return 0


if __name__ == "__main__":
    sys.exit(main())
