"""The cases of llama.cpp's test-backend-ops: which there are, who supports them, and running some of them.

Used by tools/test_ggml; works with a build folder and with a bundle.
"""
import collections
import csv
import hashlib
import io
import os
import re
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEVICE = "WEFT0"

# Cases that ggml's CPU backend claims and the plug-in refuses, with the reason: (op, regex of the parameters, reason).
EXCEPTIONS = [
    ("SUM", r"permute=\[1,0,2,3\]", "ggml's CPU backend reads the rows as if they were contiguous, so its result is wrong"),
]

CHUNK_BYTES = 100_000  # Linux takes at most 128 KiB in one argument.
RESULT = re.compile(r"([A-Z][A-Z0-9_]*)\((.*)\): (OK|FAIL|not supported.*)$")
EXPLAINED = re.compile(rf"weft: {DEVICE} (takes|refuses) \w+(?:: (.*))?$")
COLOR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Case:
    op: str
    params: str

    def __str__(self) -> str:
        return f"{self.op}({self.params})"

    @property
    def excused(self) -> bool:
        return any(op == self.op and re.search(pattern, self.params) for op, pattern, _ in EXCEPTIONS)


@dataclass
class Listed:
    """What is known about a case before it runs."""

    count: int = 0  # Some cases come more than once.
    cpu: bool = False  # Whether ggml's CPU backend supports it; if not, nobody can tell what is right.
    weft: bool = False
    kernels: frozenset[str] = frozenset()  # Those that the plug-in would launch for its nodes one by one.


@dataclass(frozen=True)
class Program:
    """test-backend-ops with the plug-in."""

    command: tuple[str, ...]
    plugin: Path
    cwd: Path | None = None

    @staticmethod
    def of_preset(preset: str) -> "Program":
        folder = ROOT / "build" / preset / "plugins" / "ggml"
        if not (folder / "test-backend-ops").exists():
            sys.exit(f"weft: {folder}/test-backend-ops is missing; env/llama fetches what it is built from, tools/build builds it")
        return Program((str(folder / "test-backend-ops"),), folder / "libggml-weft.so")

    @staticmethod
    def of_bundle(folder: Path) -> "Program":
        folder = folder.resolve()
        if not (folder / "test-backend-ops").exists():
            sys.exit(f"weft: {folder} has no test-backend-ops; `./weft bundle DIR --with-llama` makes a bundle that has it")
        # ggml looks for its CPU backends in the working directory.
        return Program((str(folder / "test-backend-ops"),), folder / "lib" / "libggml-weft.so", folder / "lib")

    def env(self) -> dict[str, str]:
        return os.environ | {"GGML_BACKEND_PATH": str(self.plugin)}

    def fingerprint(self) -> str:
        return hashlib.sha256(self.plugin.read_bytes()).hexdigest()[:16]

    def cases(self) -> dict[Case, Listed]:
        """All cases, also those of several nodes, which `support` leaves out: with WEFT_EXPLAIN=only the plug-in refuses every op
        after it has told what it would do, and `test` names each case that it cannot run."""
        done = subprocess.run([*self.command, "test", "-b", DEVICE], cwd=self.cwd, env=self.env() | {"WEFT_EXPLAIN": "only"},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        found = listed(done.stdout)
        if not found:
            sys.exit(f"weft: test-backend-ops lists nothing for {DEVICE}:\n{done.stdout[-2000:]}")
        return found

    def supported(self, device: str) -> tuple[int, int]:
        """How many cases `support` lists, and how many of them the device supports."""
        done = subprocess.run([*self.command, "support", "-b", device, "--output", "csv"], cwd=self.cwd, env=self.env(),
                              capture_output=True, text=True)
        rows = [row for row in csv.DictReader(io.StringIO(done.stdout)) if row["backend_name"] == device]
        return len(rows), sum(row["supported"] == "1" for row in rows)


def listed(output: str) -> dict[Case, Listed]:
    """What `test` told about a plug-in that refuses everything and explains itself."""
    found: dict[Case, Listed] = {}
    able, kernels = True, set()
    for line in COLOR.sub("", output).splitlines():
        if explained := EXPLAINED.match(line):
            able = able and explained[1] == "takes"
            kernels |= set((explained[2] or "").split("; ")) if explained[1] == "takes" else set()
        elif result := RESULT.search(line):
            case = found.setdefault(Case(result[1], result[2]), Listed())
            case.count += 1
            case.cpu, case.weft, case.kernels = "CPU" not in result[3], able, frozenset(kernels - {""})
            able, kernels = True, set()
    return found


def self_test() -> None:
    """A case must not be lost, or taken for one that is supported."""
    cases = listed("weft: WEFT0 takes ADD: add f32; add f16\n  A(x=1): not supported [WEFT0] \n"
                   "weft: WEFT0 takes ADD: add f32\nweft: WEFT0 refuses MUL: no: none.\n"
                   "  \x1b[1mB(x)\x1b[0m: not supported [WEFT0, WEFT0, CPU] \n"
                   "weft: WEFT0 takes ADD\n  A(x=1): not supported [WEFT0] \n")
    assert cases == {Case("A", "x=1"): Listed(2, True, True, frozenset()),
                     Case("B", "x"): Listed(1, False, False, frozenset({"add f32"}))}, cases


@dataclass
class Outcome:
    """What one process told."""

    results: dict[str, str] = field(default_factory=dict)  # The second result of a case has the name with " 2" behind it.
    status: int | None = None
    ended: bool = False  # It said at the end that it is done.
    device: str = ""
    tail: str = ""

    @property
    def trouble(self) -> str:
        """What is to be told when the program did not end as it should."""
        if self.ended and self.status in (0, 1):
            return ""
        return f"exit status {self.status} after {list(self.results)[-1:]}\n{self.tail[-2000:]}"


class Runner:
    """Runs cases, each call in a process of its own; `stop` ends all of them."""

    def __init__(self, program: Program, silence: float = 900):
        self.program = program
        self.silence = silence  # Seconds without a result after which a process is ended.
        self.stopped = False
        self._running: set[subprocess.Popen] = set()
        self._lock = threading.Lock()

    def stop(self) -> None:
        with self._lock:
            self.stopped = True
            for process in self._running:
                os.killpg(process.pid, signal.SIGKILL)

    def run(self, names: list[str]) -> Outcome:
        """Runs the cases or whole ops with these names."""
        with self._lock:
            if self.stopped:
                return Outcome()
            process = subprocess.Popen([*self.program.command, "test", "-b", DEVICE, "-o", ",".join(names)],
                                       cwd=self.program.cwd, env=self.program.env(), stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                       start_new_session=True)
            self._running.add(process)
        outcome = Outcome()
        lines = collections.deque(maxlen=40)
        watch = None
        for line in process.stdout:
            if watch:
                watch.cancel()
            watch = threading.Timer(self.silence, os.killpg, (process.pid, signal.SIGKILL))
            watch.daemon = True
            watch.start()
            self._read(COLOR.sub("", line.rstrip("\n")), outcome)
            lines.append(line)
        with self._lock:
            outcome.status = process.wait()
            self._running.discard(process)
        if watch:
            watch.cancel()
        outcome.tail = "".join(lines)
        return outcome

    @staticmethod
    def _read(line: str, outcome: Outcome) -> None:
        if match := RESULT.search(line):
            name = first = f"{match[1]}({match[2]})"
            again = 2
            while name in outcome.results:
                name, again = f"{first} {again}", again + 1
            outcome.results[name] = match[3]
        elif match := re.search(r"Device description: (.*)", line):
            outcome.device = outcome.device or match[1].strip()
        elif "backends passed" in line:
            outcome.ended = True


def chunks(names: list[str], parts: int) -> list[list[str]]:
    """The names dealt out so that no list is too long for one argument, and there is work for every process."""
    total = sum(len(name) + 1 for name in names)
    number = max(parts, -(-total // CHUNK_BYTES))
    return [part for part in (names[i::number] for i in range(number)) if part]
