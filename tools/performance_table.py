#!/usr/bin/env python3
"""Writes docs/performance.md from docs/performance.json, and takes a new measurement in.

usage: performance_table.py                     writes the page anew from docs/performance.json
       performance_table.py REPORT.json [--date YYYY-MM-DD] [--commit ID] [--command TEXT]
                                                keeps what `tools/gpu_report.py --json` wrote, then writes the page

A report that has no date, commit or command of its own needs them as options.
"""
import argparse
import collections
import collections.abc
import json
import re
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
JSON = ROOT / "docs/performance.json"
LLAMA = ROOT / "docs/performance-llama.json"  # what tools/llama_report.py --json wrote, with a commit
TRAINING = [ROOT / f"docs/performance-training{kind}.json" for kind in ("", "-bf16")]  # what tools/train_report.py --json wrote, with a commit
WEBGPU = ROOT / "docs/performance-webgpu.json"  # what tools/compare_webgpu.py --json wrote, with a commit
SINCE = ROOT / "docs/performance-since.json"  # by hand: the newest single figures, where they are from, and the work of what was never measured
HOST = ROOT / "docs/performance-host.json"  # device, step and planning of what `weft bench --json` wrote, with command, date, commit and machine
PAGE = ROOT / "docs/performance.md"
# Training on an H200: milliseconds of a step, and seconds until the first one.
STEP_BARS, READY_BAR = {"f16": 31.0, "bf16": 35.0}, 4.0
FACTS = ["date", "commit", "command"]

FAMILIES = {
    "map": "Elementwise functions, copies and casts",
    "reduce": "Reductions",
    "cumsum": "Cumulative sums",
    "softmax": "Softmax",
    "norm": "Norms",
    "gemm": "Matrix products",
    "rows": "Rows by index",
    "shape": "Slices, joins and repetitions",
}


# Benchmarks that had another name when they were measured: the beginnings, old and new.
RENAMED = {"recurrence/delta_": "recurrence/gated_delta_rule_", "recurrence/ssm_": "recurrence/selective_scan_",
           "recurrence/wkv7_": "recurrence/rwkv7_"}


def present_name(name: str) -> str:
    return next((new + name.removeprefix(old) for old, new in RENAMED.items() if name.startswith(old)), name)


class Measured:
    """One report, by name of benchmark."""

    def __init__(self, report: dict):
        self.report = report
        self.rows = {present_name(row["name"]): row for row in report["results"]}

    def rate(self, name: str, key: str = "seconds") -> float | None:
        """Bytes per second of a benchmark, or of PyTorch on the same work or copying as many bytes."""
        row = self.rows.get(name)
        return row["bytes"] / row[key] if row and row.get(key) else None

    def flops(self, name: str) -> float | None:
        row = self.rows.get(name)
        return row["flops"] / row["seconds"] if row and row["flops"] else None


# A bar takes a report to (what was measured, as text; a verdict, empty where it is not in the report).
Verdict = tuple[str, str]
NOT_MEASURED: Verdict = ("not measured", "")
MET, MISSED = "met", "**missed**"


def verdict(good: bool) -> str:
    return MET if good else MISSED


def against_peer(name: str, share: float, peer: str = "torch"):
    """At least `share` of PyTorch's rate on the same work, or (peer torch_copy) at copying as many bytes."""
    def judge(m: Measured) -> Verdict:
        mine, eager, graph = m.rate(name), m.rate(name, f"{peer}_seconds"), m.rate(name, f"{peer}_graph_seconds")
        if mine is None or eager is None:
            return NOT_MEASURED
        text = f"{mine * 1e-9:.0f} GB/s, PyTorch {eager * 1e-9:.0f} ({mine / eager * 100:.1f}%)"
        if graph:
            text += f", in a CUDA graph {graph * 1e-9:.0f} ({mine / graph * 100:.1f}%)"
        return text, verdict(mine >= share * eager)
    return judge


def against_copy(name: str, share: float):
    """At least `share` of the rate of our own copy."""
    def judge(m: Measured) -> Verdict:
        mine, copy = m.rate(name), m.report["copy_bytes_per_second"]
        if mine is None:
            return NOT_MEASURED
        return f"{mine * 1e-9:.0f} GB/s, copy {copy * 1e-9:.0f} ({mine / copy * 100:.1f}%)", verdict(mine >= share * copy)
    return judge


def arithmetic(name: str, teraflops: float):
    def judge(m: Measured) -> Verdict:
        mine = m.flops(name)
        return (f"{mine * 1e-12:.1f} TFLOP/s", verdict(mine >= teraflops * 1e12)) if mine else NOT_MEASURED
    return judge


def launch(where: str, microseconds: float):
    def judge(m: Measured) -> Verdict:
        mine = m.report["dispatch"][where] * 1e6
        return f"{mine:.2f} µs", verdict(mine <= microseconds)
    return judge


def peer_seconds(row: dict) -> float | None:
    return row.get("torch_graph_seconds") or row.get("torch_seconds")


def at_most(name: str, microseconds: float):
    """A time, with PyTorch's beside."""
    def judge(m: Measured) -> Verdict:
        row = m.rows.get(name)
        if not row:
            return NOT_MEASURED
        peer = peer_seconds(row)
        text = time_text(row["seconds"]) + (f", PyTorch {time_text(peer)}" if peer else "")
        return text, verdict(row["seconds"] <= microseconds * 1e-6)
    return judge


def times_peer(name: str, most: float):
    """At most so many times as long as PyTorch."""
    def judge(m: Measured) -> Verdict:
        row = m.rows.get(name)
        peer = row and peer_seconds(row)
        if not row or not peer:
            return (time_text(row["seconds"]), "") if row else NOT_MEASURED
        ratio = row["seconds"] / peer
        return f"{time_text(row['seconds'])}, PyTorch {time_text(peer)} ({ratio:.2f} ×)", verdict(ratio <= most)
    return judge


def times_other(name: str, other: str, most: float):
    """At most so many times as long as another benchmark of the same run."""
    def judge(m: Measured) -> Verdict:
        row, before = m.rows.get(name), m.rows.get(other)
        if not row or not before:
            return (time_text(row["seconds"]), "") if row else NOT_MEASURED
        ratio = row["seconds"] / before["seconds"]
        return f"{time_text(row['seconds'])} ({ratio:.2f} ×)", verdict(ratio <= most)
    return judge


# A benchmark, its bar as text, and who judges it.
Part = tuple[str, str, collections.abc.Callable[[Measured], Verdict]]


def below(name: str, microseconds: float) -> Part:
    return name, f"≤ {microseconds:g} µs", at_most(name, microseconds)


def no_cliff(kind: str, columns: int, before: int) -> Part:
    """A product of some columns, beside that of fewer."""
    name, other = (f"mul_mat/{kind}_4096x14336_n{n}" for n in (columns, before))
    return name, f"≤ 2 × n = {before}", times_other(name, other, 2)


def next_bars() -> list[tuple[str, list[Part]]]:
    """What comes after that: (work, parts)."""
    attention, conv, product = "attention/attention_", "conv/", "mul_mat/"
    gpt2 = attention + "gpt2_8x12x1024x64_"
    columns = [8, 12, 16, 24, 32, 64]
    thin = {16: 45, 32: 60, 64: 85}
    few = [below(f"{product}q4_0_4096x14336_n{n}", bar) for n, bar in thin.items()]
    few += [no_cliff(kind, n, before) for kind in ("q4_0", "q4_K", "q8_0", "f16") for before, n in zip(columns, columns[1:], strict=False)
            if kind != "q4_0" or n not in thin]
    few += [below(f"{product}f16_4096x14336_n{n}", bar) for n, bar in ((8, 38), (16, 36))]
    copies = [(f"fft/{size}", f"≥ {share:.0%} of copy", against_copy(f"fft/{size}", share))
              for size, share in (("4096x1000", 0.5), ("4096x1001", 0.5), ("4096x1009", 0.25))]
    spmv, spmm, nearest = "segments/spmv_1M_16_f32", "segments/spmm_256k_16x64_f32", "nearest/100000x100000x128_k16"
    lstm = [f"lstm/2x1024_128x32_f16{way}" for way in ("", "_with_backward")]
    return [
        ("attention f16", [below(f"{attention}32x1024x128_f16", 75), below(f"{attention}causal_32x4096x128_f16", 600),
                           below(f"{attention}prompt_32x512x128_f16", 35)]),
        ("GPT-2's attention", [below(gpt2 + name, bar) for name, bar in (
            ("f16", 95), ("with_backward_f16", 600), ("bf16", 109), ("with_backward_bf16", 690), ("f32", 600), ("with_backward_f32", 2000))]),
        ("products of few columns", few),
        ("GEMM", [below("gemm/f16_f16_1024", 11), *((f"gemm/{name}", f"≥ {bar} TFLOP/s", arithmetic(f"gemm/{name}", bar)) for name, bar in (
            ("f16_f16_4096", 360), ("f16_f16_8192", 360), ("bf16_4096", 260), ("bf16_8192", 260))), below("gemm/batched_64x512_f16", 45)]),
        ("convolutions 3 x 3", [*(below(f"{conv}{n}_3x3_8x256x28x28_256_f16", 45) for n in ("conv", "transposed", "weight")),
                                below(f"{conv}conv_3x3_8x256x28x28_256_f32", 150), below(f"{conv}conv_depthwise_3x3_8x256x56x56_last_f16", 15)]),
        ("rows and places", [below("softmax/softmax_odd_96x197x197_f16", 10), below("gather/scatter_add_axis0_512_to_4096x4096_f32", 66)]),
        ("recurrences over 512 tokens", [below(f"recurrence/{n}_512", 90) for n in ("gated_delta_rule_32x128", "selective_scan_48x64x128", "rwkv7_32x64")]),
        ("Fourier transforms of other lengths", copies),
        ("neighbours", [(nearest, "≤ PyTorch's cdist and topk", times_peer(nearest, 1))]),
        ("sparse products", [(spmv, "≥ 60% of copy", against_copy(spmv, 0.6)), (spmm, "≥ cuSPARSE", times_peer(spmm, 1))]),
        ("two layers of LSTM", [(name, "≤ 2 × cuDNN", times_peer(name, 2)) for name in lstm]),
    ]


def bars(way: str = "") -> list[tuple[str, str, list]]:
    """What has to be reached: (work, bar, [(benchmark, judge)]); way: "_graph" for PyTorch in CUDA graphs."""
    moves = [f"map/{f}_16M_{t}" for t in ("f32", "f16", "bf16") for f in ("copy", "fill")]
    moves += [f"map/copy_cast_{c}_16M" for c in ("f32_to_f16", "f16_to_f32")]
    moves += ["map/copy_512M_f32"]
    elementwise = [f"map/{f}_16M_{t}" for t in ("f32", "f16") for f in ("gelu_tanh", "silu", "exp", "add", "mul")]
    rows = ["reduce/sum_all", "reduce/sum_rows", "reduce/sum_columns", "softmax/softmax", "norm/rms", "norm/layer"]
    square = [f"{name}_4096x4096_f32" for name in rows]
    transpose = "map/copy_transpose_4096x4096_f32"
    matvec = "gemm/matvec_f16_16384"
    return [
        ("copy, fill, cast", "≥ 97% of PyTorch's copy of as many bytes", [(n, against_peer(n, 0.97, f"torch_copy{way}")) for n in moves]),
        ("unary, binary, gelu, add; f32 and f16, 16M elements", "≥ PyTorch", [(n, against_peer(n, 1, f"torch{way}")) for n in elementwise]),
        ("the same", "≥ 85% of our copy", [(n, against_copy(n, 0.85)) for n in elementwise]),
        ("sums, softmax, norms of 4096²", "≥ PyTorch", [(n, against_peer(n, 1, f"torch{way}")) for n in square]),
        ("transpose of 4096²", "≥ PyTorch", [(transpose, against_peer(transpose, 1, f"torch{way}"))]),
        ("f16 matrix times vector, 16384²", "≥ 97% of PyTorch", [(matvec, against_peer(matvec, 0.97, f"torch{way}"))]),
        ("GEMM f16, sums in f32", "≥ 300 TFLOP/s", [(f"gemm/f16_f32_{n}", arithmetic(f"gemm/f16_f32_{n}", 300)) for n in (4096, 8192)]),
        ("GEMM f32", "≥ 40 TFLOP/s", [("gemm/f32_4096", arithmetic("gemm/f32_4096", 40))]),
        ("replayed tiny launches", "≤ 2 µs each", [("on the GPU", launch("gpu", 2)), ("on the host", launch("host", 2))]),
    ]


def bars_table(m: Measured) -> list[str]:
    lines = ["| work | bar | benchmark | measured | |", "|---|---|---|---|---|"]
    verdicts = []
    for work, bar, parts in bars():
        for name, judge in parts:
            text, said = judge(m)
            lines.append(f"| {work} | {bar} | {name} | {text} | {said or '–'} |")
            verdicts.append(said)
    strict = [judge(m)[1] for _, _, parts in bars("_graph") for _, judge in parts]
    return [f"{verdicts.count(MET)} of {len(verdicts)} are met; held against PyTorch in CUDA graphs it would be {strict.count(MET)}.", "", *lines]


def product_rate(m: Measured, dtype: str) -> float:
    """What PyTorch's products reached in the run, in operations per second."""
    rates = [row["flops"] / peer_seconds(row) for name, row in m.rows.items()
             if name.startswith(f"gemm/{dtype}_") and row["flops"] and peer_seconds(row)]
    return max(rates, default=0.0)


def floor_seconds(m: Measured, name: str, work: dict) -> float | None:
    """No less than its bytes take at the rate of the largest copy, and its operations at that of PyTorch's products in the type."""
    row = m.rows.get(name) or work.get(name)
    if not row:
        return None
    copy = max(m.rate(each) or 0 for each in ("map/copy_512M_f32", "map/copy_16M_f32")) or m.report["copy_bytes_per_second"]
    types = [word for word in re.split(r"[/_]", name) if word in ("f16", "bf16", "f32")]
    rate = product_rate(m, types[-1] if types else "f16" if name.startswith("mul_mat/") else "f32")
    return max(row["bytes"] / copy, row["flops"] / rate if rate else 0)


def with_newest(m: Measured, since: dict) -> Measured:
    """The report with what was measured after it in its place, peers as they were."""
    newest = Measured(m.report)
    for row in since["results"]:
        newest.rows[row["name"]] = {**since["work"].get(row["name"], {}), **m.rows.get(row["name"], {}), "seconds": row["seconds"]}
    return newest


def next_bars_table(m: Measured, since: dict) -> list[str]:
    lines = ["| work | benchmark | bar | measured | | since | | floor |", "|---|---|---|---|---|---|---|---|"]
    newest, known = with_newest(m, since), {row["name"]: row for row in since["results"]}
    verdicts, latest = [], []
    for work, parts in next_bars():
        for name, bar, judge in parts:
            text, said = judge(m)
            now = judge(newest)[1] if name in newest.rows else ""
            source = known.get(name)
            when = f"{time_text(source['seconds'])} ({source['date']}, {source['source']})" if source else ""
            floor = floor_seconds(m, name, since["work"])
            lines.append(f"| {work} | {name} | {bar} | {text} | {said or '–'} | {when} | {now if source else ''} | "
                         f"{time_text(floor) if floor else ''} |")
            verdicts.append(said)
            latest.append(now or said)
    return [f"{verdicts.count(MET)} of {len(verdicts)} are met; PyTorch is timed in CUDA graphs here. With what was measured since, in runs "
            f"without peers, it would be {latest.count(MET)}; {latest.count('')} have not been measured beside what they are held against.",
            "The floor is what the bytes of the work take at the rate of the largest copy, or its operations at that of PyTorch's own products in the "
            "type, whichever is longer. Through Vulkan, matrix units reach less so far: "
            f"{max(m.flops(f'gemm/{name}') or 0 for name in ('f16_f32_8192', 'f16_f16_8192')) * 1e-12:.0f} of {product_rate(m, 'f16') * 1e-12:.0f} TFLOP/s "
            "in f16.", "", *lines]


def since_training_lines(m: Measured, since: dict) -> list[str]:
    """Newest times of a step in each type, with the time that its products take at PyTorch's rate."""
    lines = ["", "### Steps of training, newest", "", "| type | ms per step | bar | | floor | when |", "|---|---|---|---|---|---|"]
    for row in since["training"]:
        bar, floor = STEP_BARS[row["dtype"]], row["flops"] / (product_rate(m, row["dtype"]) or 1e30)
        lines.append(f"| {row['dtype']} | {row['seconds'] * 1e3:.1f} | ≤ {bar:g} | {verdict(row['seconds'] * 1e3 <= bar)} | {floor * 1e3:.1f} | "
                     f"{row['date']}, {row['source']} |")
    return lines


def since_llama_lines(m: Measured, since: dict) -> list[str]:
    """What was measured of llama.cpp beside other backends after the last report, with floors in tokens/s."""
    peers = list(dict.fromkeys(peer for row in since["llama"] for peer in row["peers"]))
    lines = ["", "### Since then, beside other backends", "",
             "The floor is what the weights and the cache that a token reads, or the operations of a prompt, take at the rates above.", "",
             f"| work | measured | {''.join(f'{peer} | ' for peer in peers)}bar | | floor | when |", f"|---|---|{'---|' * len(peers)}---|---|---|---|"]
    copy = max(m.rate("map/copy_512M_f32") or 0, m.report["copy_bytes_per_second"])
    for row in since["llama"]:
        value, bar, work = row["value"], row["bar"], row["floor"]
        seconds = max(work.get("bytes", 0) / copy, work.get("flops", 0) / (product_rate(m, "f16") or 1e30))
        said = "" if bar is None or value is None else verdict(value >= bar)
        cells = [row["name"], "not measured" if value is None else f"{value} {row['unit']}", *(str(row["peers"].get(peer, "–")) for peer in peers),
                 "" if bar is None else f"≥ {bar}", said, f"{work['tokens'] / seconds:.0f}", ", ".join([row["date"], row["source"]]) if row["date"] else ""]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def time_text(seconds: float) -> str:
    return f"{seconds * 1e6:.1f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"


def row_line(row: dict, report: dict) -> str:
    bounded_by_arithmetic = row["flops"] > 20 * row["bytes"]
    seconds = row["seconds"]
    if bounded_by_arithmetic:
        rate, best = row["flops"] / seconds, report["best_flops"]
        cells = [f"{rate * 1e-12:.1f} TFLOP/s", f"{rate / best * 100:.0f}% of GEMM" if best else ""]
    else:
        rate = row["bytes"] / seconds
        cells = [f"{rate * 1e-9:.0f} GB/s", f"{rate / report['copy_bytes_per_second'] * 100:.0f}% of copy"]
    for peer in [row.get("torch_seconds"), row.get("torch_graph_seconds")]:
        cells += [time_text(peer), f"{peer / seconds:.2f}"] if peer else ["", ""]
    return f"| {present_name(row['name']).split('/', 1)[1]} | {time_text(seconds)} | " + " | ".join(cells) + " |"


def llama_lines(report: dict) -> list[str]:
    """Rates are better when they are higher, times (in us) when they are lower; other backends stand beside where they were measured."""
    peers = list(dict.fromkeys(name for row in report["results"] for name in row.get("peers", {})))
    lines = ["", "## llama.cpp through the ggml plug-in", "",
             f"`{report['command']}` at commit {report['commit']}, {report['date']}; models with random weights in the real shapes.", "",
             f"| work | measured | {''.join(f'{peer} | ' for peer in peers)}bar | |", f"|---|---|{'---|' * len(peers)}---|---|"]
    for row in report["results"]:
        bar, is_time = row["bar"], row["unit"] == "us"
        said = "" if bar is None else verdict(row["value"] <= bar if is_time else row["value"] >= bar)
        beside = "".join(f"{'–' if value is None else f'{value:.1f}'} | " for value in (row.get("peers", {}).get(peer) for peer in peers))
        limit = "" if bar is None else f"{'≤' if is_time else '≥'} {bar}"
        lines.append(f"| {row['name']} | {row['value']:.1f} {row['unit'].replace('us', 'µs') if is_time else row['unit']} | {beside}{limit} | {said} |")
    return lines


def llama_table() -> list[str]:
    """llama.cpp through the ggml plug-in, if that has been measured."""
    return llama_lines(json.loads(LLAMA.read_text())) if LLAMA.exists() else []


def training_lines(report: dict) -> list[str]:
    weft, torch = report["weft"], report.get("torch")
    bars = [("time of a step", f"≤ {STEP_BARS[weft['dtype']]:g} ms", f"{weft['seconds'] * 1e3:.1f} ms", weft["seconds"] * 1e3 <= STEP_BARS[weft["dtype"]]),
            ("ready for the first step", f"≤ {READY_BAR:g} s", f"{weft['start_up_seconds']:.1f} s", weft["start_up_seconds"] <= READY_BAR)]
    if torch:
        bars += [(what, f"≤ {bar} × PyTorch's", f"{ratio:.2f} ×", ratio <= bar)
                 for what, bar, ratio in (("time of a step", report["time_bar"], weft["seconds"] / torch["seconds"]),
                                          ("peak memory", report["memory_bar"], weft["peak_bytes"] / torch["peak_bytes"]))]
    peer = f"PyTorch {torch['version']} (eager, autocast to bf16, fused AdamW, flash attention) in the same run" if torch else "without PyTorch"
    lines = ["", f"## Training in {weft['dtype']}", "",
             f"`{report['command']}` at commit {report['commit']}, {report['date']}; {peer}.",
             f"The model has the size of GPT-2 small: {weft['parameters'] / 1e6:.0f}M parameters, {weft['layers']} layers of width {weft['dim']}, "
             f"a vocabulary of {weft['vocabulary']}; {weft['batch']} sequences of {weft['context']} tokens, products in {weft['dtype']}.", "",
             "| | ms per step | tokens/s | peak memory |", "|---|---|---|---|"]
    for name, row in (("Weft", weft), ("PyTorch", torch)):
        if row:
            lines.append(f"| {name} | {row['seconds'] * 1e3:.1f} | {row['tokens_per_second']:.0f} | {row['peak_bytes'] * 1e-9:.2f} GB |")
    lines += ["", "| work | bar | measured | |", "|---|---|---|---|"]
    return lines + [f"| {what} | {bar} | {text} | {verdict(good)} |" for what, bar, text, good in bars]


def training_table() -> list[str]:
    """Steps of training, in the types that have been measured."""
    return [line for file in TRAINING if file.exists() for line in training_lines(json.loads(file.read_text()))]


def webgpu_ratio(row: dict, clock: str) -> float:
    """How many times as fast as the other backend."""
    return row["webgpu"][clock] / row["weft"][clock]


def webgpu_lines(report: dict) -> list[str]:
    both = [row for row in report["results"] if row["weft"] and row["webgpu"]]
    slower = [row for row in both if webgpu_ratio(row, "processor_us") < 1]
    lost = [row["name"] for row in report["results"] if row["weft"] and not row["webgpu"]]
    ops = collections.defaultdict(list)
    for row in both:
        ops[row["name"].split()[0]].append(row)
    lines = ["", "## Beside llama.cpp's own WebGPU backend", "",
             f"`{report['command']}` at commit {report['commit']}, {report['date']}, on {report['adapter']}: every op that the other "
             "backend supports, in its types, as a token and as a prompt have it. Both backends with the same Dawn, in one process, in "
             "turns of some milliseconds; the best turn of each counts. Processor time decides, which other work on the machine disturbs least; time on the "
             "clock stands beside it. All cases are in performance-webgpu.json.", "",
             f"Weft is no slower in {len(both) - len(slower)} of {len(both)} cases"
             f"{'' if len(report['results']) == report['cases'] else ' (of ' + str(report['cases']) + ' in the list, those measured so far)'}.",
             *report.get("notes", []), "",
             "| op | cases | median | on the clock | lowest | in | Weft | other | |", "|---|---:|---:|---:|---:|---|---:|---:|---|"]
    for op, rows in ops.items():
        worst = min(rows, key=lambda row: webgpu_ratio(row, "processor_us"))
        medians = [f"{statistics.median(webgpu_ratio(row, clock) for row in rows):.2f}" for clock in ["processor_us", "wall_us"]]
        times = [time_text(worst[side]["processor_us"] * 1e-6) for side in ["weft", "webgpu"]]
        lowest = webgpu_ratio(worst, "processor_us")
        lines.append(f"| {op} | {len(rows)} | {medians[0]} | {medians[1]} | {lowest:.2f} | {worst['name'].partition(' ')[2]} | "
                     f"{times[0]} | {times[1]} | {verdict(lowest >= 1)} |")
    if slower:
        lines += ["", "Slower:", "", "| case | Weft | other | times as fast | on the clock |", "|---|---:|---:|---:|---:|"]
        for row in slower:
            times = [time_text(row[side]["processor_us"] * 1e-6) for side in ["weft", "webgpu"]]
            ratios = [f"{webgpu_ratio(row, clock):.2f}" for clock in ["processor_us", "wall_us"]]
            lines.append(f"| {row['name']} | {' | '.join(times + ratios)} |")
    if lost:
        lines += ["", f"The other backend ends the program, or is not done after {report['longest']} seconds, in: {'; '.join(lost)}."]
    return lines


def webgpu_table() -> list[str]:
    """Single ops beside the other backend, if they have been measured."""
    return webgpu_lines(json.loads(WEBGPU.read_text())) if WEBGPU.exists() else []


def host_lines(report: dict) -> list[str]:
    step, planning = report["step"], report["planning"]
    ratio, plan = step["eager"] / step["compiled"], planning["seconds"] * 1e3
    return ["", "## Time of the host", "",
            f"`{report['command']}` at commit {report['commit']}, {report['date']}, on {report['machine']}: {report['device']}. Time of the "
            "calling thread on a processor, which other work on the machine disturbs least; medians of steps whose kinds take turns.", "",
            "| work | measured | bar | |", "|---|---|---|---|",
            f"| a training step of three layers, batch 64, computed as it is written | {step['eager'] * 1e6:.0f} µs, {step['eager_launches']} launches; "
            f"compiled {step['compiled'] * 1e6:.0f} µs, {step['compiled_launches']} launches | ≤ 1.3 times the compiled one, as many launches | "
            f"{ratio:.2f}, {verdict(ratio <= 1.3 and step['eager_launches'] == step['compiled_launches'])} |",
            f"| planning a training step of 12 transformer blocks for the first time | {plan:.1f} ms, {planning['launches']} launches | "
            f"≤ 50 ms | {verdict(plan <= 50)} |"]


def host_table() -> list[str]:
    """What the host does for eager and compiled steps, if it has been measured."""
    return host_lines(json.loads(HOST.read_text())) if HOST.exists() else []


def page(report: dict) -> str:
    m = Measured(report)
    since = json.loads(SINCE.read_text())
    lines = [
        "<!-- Written by tools/performance_table.py from performance.json. -->",
        "# Performance",
        "",
        "One run on one machine; PyTorch was timed in the same run, on the same shapes, as it is mostly used (one call after the",
        "other, with CUDA events around many of them), and beside that through CUDA graphs. The bars are held against the former.",
        "",
        f"- date: {report['date']}",
        f"- commit: {report['commit']}",
        f"- command: `{report['command']}`",
        f"- device: {report['device']}, driver {report['driver']}",
        f"- PyTorch: {report.get('torch', 'not measured')}",
        f"- our copy of 16M f32: {report['copy_bytes_per_second'] * 1e-9:.0f} GB/s; best GEMM: "
        f"{report['best_flops'] * 1e-12:.1f} TFLOP/s",
        f"- a replayed launch of an empty kernel: {report['dispatch']['gpu'] * 1e6:.2f} µs on the GPU, "
        f"{report['dispatch']['host'] * 1e6:.2f} µs on the host",
        "",
        "Times are medians on the GPU's own clock. GB/s counts the fewest bytes that the work has to move. Tensors that would",
        "fit into the caches rotate among several sets of buffers, for PyTorch too. Dependent kernels follow each other after",
        "1.0 µs in a CUDA graph and 1.7 µs here (a barrier of Vulkan's between two dispatches), which shows in what takes under 30 µs.",
        *(["", report["note"]] if "note" in report else []),
        "",
        "## What was aimed for",
        "",
        *bars_table(m),
        "",
        "## What is aimed for next",
        "",
        *next_bars_table(m, since),
        *host_table(),
        *llama_table(),
        *since_llama_lines(m, since),
        *webgpu_table(),
        *training_table(),
        *since_training_lines(m, since),
    ]
    families = list(dict.fromkeys(row["name"].split("/")[0] for row in report["results"]))
    for family in families:
        lines += ["", f"## {FAMILIES.get(family, family)}", "",
                  "| benchmark | time | rate | share | PyTorch | times as fast | in a CUDA graph | times as fast |",
                  "|---|---|---|---|---|---|---|---|"]
        lines += [row_line(row, report) for row in report["results"] if row["name"].split("/")[0] == family]
    return "\n".join(lines) + "\n"


def self_test() -> None:
    """A bar must be able to be missed, to be met and to be left open."""
    report = {"copy_bytes_per_second": 100.0, "dispatch": {"gpu": 3e-6, "host": 1e-6},
              "results": [{"name": "a", "bytes": 100, "flops": 5e12, "seconds": 1.0, "torch_seconds": 0.98, "torch_copy_seconds": 0.9},
                          {"name": "b", "bytes": 80, "flops": 0, "seconds": 1.0},
                          {"name": "d", "bytes": 80, "flops": 0, "seconds": 1.0, "torch_seconds": 0.995}]}
    m = Measured(report)
    judges = [against_peer("a", 0.97), against_peer("a", 1), against_peer("b", 1), against_peer("a", 0.97, "torch_copy"),
              against_peer("d", 1), against_copy("a", 0.85), against_copy("b", 0.85), against_copy("c", 0.85), arithmetic("a", 5),
              arithmetic("a", 6), arithmetic("b", 1), launch("gpu", 2), launch("host", 2)]
    assert [judge(m)[1] for judge in judges] == [MET, MISSED, "", MISSED, MISSED, MET, MISSED, "", MET, MISSED, "", MISSED, MET]
    step = {"seconds": 0.032, "peak_bytes": 4e9, "tokens_per_second": 1.0, "parameters": 1, "layers": 1, "dim": 1, "vocabulary": 1, "batch": 1,
            "context": 1, "dtype": "bf16", "version": "1", "start_up_seconds": 4.5}
    training = training_lines({"command": "", "commit": "", "date": "", "weft": step, "torch": step | {"seconds": 0.016, "peak_bytes": 2e9},
                               "time_bar": 3.0, "memory_bar": 1.5})
    assert [MET in line for line in training[-4:]] == [True, False, True, False]
    assert MISSED in training_lines({"command": "", "commit": "", "date": "", "weft": step | {"dtype": "f16"}, "torch": step, "time_bar": 3.0,
                                     "memory_bar": 1.5})[-4]
    rows = [{"name": "a", "value": 40.0, "unit": "us", "bar": 45}, {"name": "b", "value": 50.0, "unit": "us", "bar": 45, "peers": {"cuda": 30.0}},
            {"name": "c", "value": 50.0, "unit": "tokens/s", "bar": 45, "peers": {"cuda": None}}]
    llama = llama_lines({"command": "", "commit": "", "date": "", "results": rows})[-3:]
    assert [MET in line for line in llama] == [True, False, True] and "| 30.0 | ≤ 45 |" in llama[1] and "| – | ≥ 45 |" in llama[2]
    m = Measured({"copy_bytes_per_second": 100.0, "results": [
        {"name": "recurrence/delta_x", "bytes": 1, "flops": 0, "seconds": 3.0, "torch_seconds": 2.0, "torch_graph_seconds": 1.0},
        {"name": "mul_mat/f16_4096x14336_n8", "bytes": 1, "flops": 0, "seconds": 1.0}, {"name": "mul_mat/f16_4096x14336_n12", "seconds": 2.5}]})
    assert [judge(m)[1] for judge in (times_peer("recurrence/gated_delta_rule_x", 3), times_peer("recurrence/gated_delta_rule_x", 2),
                                      times_peer("mul_mat/f16_4096x14336_n8", 2), no_cliff("f16", 12, 8)[2], no_cliff("f16", 16, 12)[2])] == [
        MET, MISSED, "", MISSED, ""]
    m = Measured({"copy_bytes_per_second": 100.0, "results": [
        {"name": "gemm/f16_f32_8", "bytes": 1, "flops": 1e3, "seconds": 2.0, "torch_seconds": 1.0},
        {"name": "gemm/f32_8", "bytes": 1, "flops": 1e3, "seconds": 9.0, "torch_seconds": 4.0},
        {"name": "conv/x_f32", "bytes": 100, "flops": 500, "seconds": 9.0}, {"name": "conv/x_f16", "bytes": 100, "flops": 500, "seconds": 9.0}]})
    assert [floor_seconds(m, name, {"mul_mat/q4_0_n8": {"bytes": 300, "flops": 1}}) for name in
            ("conv/x_f32", "conv/x_f16", "mul_mat/q4_0_n8", "nothing")] == [2.0, 1.0, 3.0, None]
    since = {"work": {}, "results": [{"name": "conv/x_f32", "seconds": 3.0}]}
    assert (with_newest(m, since).rows["conv/x_f32"]["seconds"], m.rows["conv/x_f32"]["seconds"]) == (3.0, 9.0)
    host = {"command": "", "commit": "", "date": "", "machine": "", "device": "", "planning": {"seconds": 0.04, "launches": 9},
            "step": {"eager": 1.4e-4, "compiled": 1e-4, "eager_launches": 9, "compiled_launches": 9}}
    assert MISSED in host_lines(host)[-2] and MET in host_lines(host)[-1]


def main() -> int:
    self_test()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", nargs="?", default=str(JSON))
    for fact in FACTS:
        parser.add_argument(f"--{fact}")
    arguments = parser.parse_args()
    report = json.loads(Path(arguments.report).read_text())
    for fact in FACTS:
        report[fact] = getattr(arguments, fact) or report.get(fact)
        if not report[fact]:
            print(f"{arguments.report} does not say its {fact}; give it with --{fact}.", file=sys.stderr)
            return 2
    JSON.write_text(json.dumps(report, indent=1, sort_keys=True) + "\n")
    PAGE.write_text(page(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
