#!/usr/bin/env python3
"""Runs `weft bench` from a bundle on a GPU machine, times PyTorch on the same work in the same run, and prints one table.

usage: gpu_report.py BUNDLE_DIR [--json OUT.json] [--seconds S] [PATTERN…]

Where PyTorch or its GPU is not there, Weft is measured alone.
"""
import argparse
import datetime
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

try:
    import torch
except ImportError:
    torch = None

TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16} if torch else {}
N = 16 << 20


def random(shape, dtype):
    return torch.rand(shape, device="cuda", dtype=torch.float32).mul_(2).sub_(1).to(dtype)


def peers():
    """Name of a benchmark → (tensors for one call, function of them, output is preallocated by the function)."""
    F = torch.nn.functional
    table = {}
    for t, dtype in TYPES.items():
        def vector(d=dtype): return random((N,), d)
        def square(d=dtype): return random((4096, 4096), d)
        table |= {
            f"map/copy_16M_{t}": (lambda v=vector: [v(), v()], lambda x, y: y.copy_(x)),
            f"map/fill_16M_{t}": (lambda v=vector: [v()], lambda y: y.fill_(3.0)),
            f"map/gelu_tanh_16M_{t}": (lambda v=vector: [v()], lambda x: F.gelu(x, approximate="tanh")),
            f"map/silu_16M_{t}": (lambda v=vector: [v()], F.silu),
            f"map/exp_16M_{t}": (lambda v=vector: [v()], torch.exp),
            f"map/add_16M_{t}": (lambda v=vector: [v(), v()], torch.add),
            f"map/mul_16M_{t}": (lambda v=vector: [v(), v()], torch.mul),
            f"map/add_broadcast_row_4096x4096_{t}": (lambda s=square, d=dtype: [s(), random((4096,), d)], torch.add),
            f"map/copy_transpose_4096x4096_{t}": (lambda s=square: [s(), s()], lambda x, y: y.copy_(x.t())),
            f"softmax/softmax_4096x4096_{t}": (lambda s=square: [s()], lambda x: torch.softmax(x, 1)),
            f"softmax/log_softmax_4096x4096_{t}": (lambda s=square: [s()], lambda x: torch.log_softmax(x, 1)),
            f"norm/layer_4096x4096_{t}": (lambda s=square, d=dtype: [s(), random((4096,), d), random((4096,), d)],
                                          lambda x, w, b: F.layer_norm(x, (4096,), w, b)),
            f"norm/rms_4096x4096_{t}": (lambda s=square, d=dtype: [s(), random((4096,), d)],
                                        lambda x, w: F.rms_norm(x, (4096,), w)),
        }
        if t != "bf16":
            table |= {
                f"reduce/sum_all_4096x4096_{t}": (lambda s=square: [s()], torch.sum),
                f"reduce/sum_rows_4096x4096_{t}": (lambda s=square: [s()], lambda x: torch.sum(x, 1)),
                f"reduce/sum_columns_4096x4096_{t}": (lambda s=square: [s()], lambda x: torch.sum(x, 0)),
                f"reduce/max_rows_4096x4096_{t}": (lambda s=square: [s()], lambda x: torch.amax(x, 1)),
                f"cumsum/rows_4096x4096_{t}": (lambda s=square: [s()], lambda x: torch.cumsum(x, 1)),
            }
        for n in (1024, 4096, 8192):
            def pair(n=n, d=dtype): return [random((n, n), d), random((n, n), d)]
            names = {"f32": [f"f32_{n}"], "f16": [f"f16_f32_{n}", f"f16_f16_{n}"], "bf16": [f"bf16_{n}"]}[t]
            table |= {f"gemm/{name}": (pair, torch.matmul) for name in names}
            if t == "f16":
                table[f"gemm/f16_f16_bt_{n}"] = (pair, lambda a, b: torch.matmul(a, b.t()))
    table["map/copy_cast_f32_to_f16_16M"] = (lambda: [random((N,), torch.float32), random((N,), torch.float16)], lambda x, y: y.copy_(x))
    table["map/copy_cast_f16_to_f32_16M"] = (lambda: [random((N,), torch.float16), random((N,), torch.float32)], lambda x, y: y.copy_(x))
    table["map/copy_512M_f32"] = (lambda: [random((1 << 28,), torch.float32), random((1 << 28,), torch.float32)], lambda x, y: y.copy_(x))
    table["gemm/matvec_f16_16384_bt"] = (lambda: [random((16384, 16384), torch.float16), random((16384,), torch.float16)], torch.mv)
    table["gemm/matvec_f16_16384"] = (lambda: [random((16384, 16384), torch.float16), random((16384,), torch.float16)],
                                      lambda w, x: torch.mv(w.t(), x))
    def attention(t, heads, queries, keys, size, key_heads=None, batch=1):
        dtype = TYPES[t]
        return lambda: [random((batch, heads, queries, size), dtype)] + [random((batch, key_heads or heads, keys, size), dtype) for _ in range(2)]

    def with_backward(q, k, v):
        leaves = [x.detach().requires_grad_() for x in (q, k, v)]
        y = F.scaled_dot_product_attention(*leaves, is_causal=True)
        return torch.autograd.grad(y, leaves, y.detach())

    table["attention/attention_32x1024x128_f16"] = (attention("f16", 32, 1024, 1024, 128), F.scaled_dot_product_attention)
    table["attention/attention_causal_32x4096x128_f16"] = (attention("f16", 32, 4096, 4096, 128),
                                                          lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True))
    for keys in (512, 8704):
        name = "prompt_32x512x128" if keys == 512 else f"prompt_32x512_of_{keys}x128"
        table[f"attention/attention_{name}_f16"] = (attention("f16", 32, 512, keys, 128, key_heads=8),
                                                   lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True))
    for t in TYPES:
        table[f"attention/attention_gpt2_8x12x1024x64_{t}"] = (
            attention(t, 12, 1024, 1024, 64, batch=8), lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True))
        table[f"attention/attention_gpt2_8x12x1024x64_with_backward_{t}"] = (attention(t, 12, 1024, 1024, 64, batch=8), with_backward)
    table |= convolutions()
    table["softmax/softmax_odd_96x197x197_f16"] = (lambda: [random((96, 197, 197), torch.float16)], lambda x: torch.softmax(x, -1))
    table["gather/scatter_add_axis0_512_to_4096x4096_f32"] = (
        lambda: [random((4096, 4096), torch.float32), torch.randint(0, 4096, (512, 4096), device="cuda"), random((512, 4096), torch.float32)],
        lambda y, index, source: y.scatter_add_(0, index, source))
    for rows, length in ((4096, 1024), (64, 65536), (4096, 1000), (4096, 1001), (4096, 1009)):
        table[f"fft/{rows}x{length}"] = (lambda r=rows, n=length: [torch.view_as_complex(random((r, n, 2), torch.float32))], torch.fft.fft)
    table["nearest/100000x100000x128_k16"] = (lambda: [random((100000, 128), torch.float32), random((100000, 128), torch.float32)], nearest)
    for name, rows, columns in (("spmv_1M_16", 1 << 20, 1), ("spmm_256k_16x64", 1 << 18, 64)):
        table[f"segments/{name}_f32"] = (lambda n=rows, c=columns: [sparse(n, 16), random((n, c), torch.float32)], torch.matmul)
    table |= {"lstm/2x1024_128x32_f16": (lstm, lambda net, x: net(x)[0]), "lstm/2x1024_128x32_f16_with_backward": (lstm, lstm_with_backward)}
    for n in (8, 12, 16, 24, 32, 64):
        table[f"mul_mat/f16_4096x14336_n{n}"] = (
            lambda n=n: [random((4096, 14336), torch.float16), random((n, 14336), torch.float16)], lambda w, x: F.linear(x, w))
    table["sample/1x128256"] = (lambda: [random((1, 128256), torch.float32)], sample)
    table["gemm/batched_64x512_f16"] = (lambda: [random((64, 512, 512), torch.float16), random((64, 512, 512), torch.float16)], torch.bmm)
    return table


def convolutions():
    """3 x 3 products with all channels and with one each, and their gradients."""
    F = torch.nn.functional
    images, weights = (8, 256, 28, 28), (256, 256, 3, 3)
    def pair(d): return lambda: [random(images, d), random(weights, d)]
    table = {
        f"conv/conv_3x3_8x256x28x28_256_{t}": (pair(TYPES[t]), lambda x, w: F.conv2d(x, w, padding=1)) for t in ("f16", "f32")}
    table["conv/transposed_3x3_8x256x28x28_256_f16"] = (
        pair(torch.float16), lambda dy, w: torch.nn.grad.conv2d_input(images, w, dy, padding=1))
    table["conv/weight_3x3_8x256x28x28_256_f16"] = (
        lambda: [random(images, torch.float16) for _ in range(2)], lambda x, dy: torch.nn.grad.conv2d_weight(x, weights, dy, padding=1))
    def single(channels_last):
        order = torch.channels_last if channels_last else torch.contiguous_format
        return lambda: [random((8, 256, 56, 56), torch.float16).to(memory_format=order), random((256, 1, 3, 3), torch.float16)]
    for name, last in (("", False), ("_last", True)):
        table[f"conv/conv_depthwise_3x3_8x256x56x56{name}_f16"] = (single(last), lambda x, w: F.conv2d(x, w, padding=1, groups=256))
    return table


def sparse(rows, each):
    """A square matrix in compressed rows, `each` elements in a row on average."""
    ends = torch.randint(0, rows * each + 1, (rows - 1,), device="cuda").sort().values
    bounds = torch.tensor([0, rows * each], device="cuda")
    starts = torch.cat([bounds[:1], ends, bounds[1:]]).int()
    places = torch.randint(0, rows, (rows * each,), device="cuda", dtype=torch.int32)
    return torch.sparse_csr_tensor(starts, places, random((rows * each,), torch.float32), (rows, rows))


def lstm():
    """cuDNN's LSTM, and sequences."""
    net = torch.nn.LSTM(1024, 1024, 2, bias=False, device="cuda", dtype=torch.float16)
    net.flatten_parameters()
    return [net, random((128, 32, 1024), torch.float16)]


def lstm_with_backward(net, x):
    leaf = x.detach().requires_grad_()
    y = net(leaf)[0]
    return torch.autograd.grad(y, [leaf, *net.parameters()], y.detach())


def nearest(queries, points):
    """The 16 nearest points, distances in pieces that fit memory."""
    return [torch.topk(torch.cdist(piece, points), 16, largest=False) for piece in queries.split(8192)]


def sample(logits):
    """Temperature, top-k, top-p, min-p and a draw, as generation with PyTorch does it."""
    values, places = torch.topk(logits / 0.8, 40)
    shares = torch.softmax(values, -1)
    kept = (shares.cumsum(-1) - shares < 0.95) & (shares >= 0.05 * shares[:, :1])
    return places.gather(1, torch.multinomial(shares * kept, 1))


def median_seconds(run, calls):
    """Median seconds per call of `run`, which makes `calls` calls, timed with events over at least 2 ms each."""
    def timed(times):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(times):
            run()
        end.record()
        torch.cuda.synchronize()
        return start.elapsed_time(end) * 1e-3

    started = time.monotonic()
    while time.monotonic() - started < 0.05:  # an idle GPU has low clocks
        once = timed(1)
    times, repetitions = (1, 3) if once > 0.02 else (max(5, int(2e-3 / once)), 9)
    return statistics.median(timed(times) for _ in range(repetitions)) / times / calls


def time_peer(make, function, bytes_moved):
    """Seconds per call over rotating inputs (as weft bench does): called one by one, and from a CUDA graph (None where none can be made)."""
    sets = max(1, min(16, -(-256_000_000 // int(bytes_moved))))
    inputs = [make() for _ in range(sets)]

    def run():
        return [function(*x) for x in inputs]

    eager = median_seconds(run, sets)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            outputs = run()
        replayed = median_seconds(graph.replay, sets)
    except RuntimeError as error:
        print(f"no CUDA graph: {error}", file=sys.stderr)
        return eager, None
    del outputs
    return eager, replayed


def add_peers(results: list[dict]) -> None:
    """PyTorch's times of the benchmarks that it has something for."""
    known = peers()
    for row in results:
        if row["name"] not in known:
            continue
        make, function = known[row["name"]]
        try:
            row["torch_seconds"], row["torch_graph_seconds"] = time_peer(make, function, row["bytes"])
            if row["name"].startswith(("map/copy", "map/fill")):  # what PyTorch needs to copy as many bytes
                half = int(row["bytes"]) // 8
                row["torch_copy_seconds"], row["torch_copy_graph_seconds"] = time_peer(
                    lambda half=half: [random((half,), torch.float32) for _ in range(2)], lambda x, y: y.copy_(x), row["bytes"])
        except Exception as error:  # a peer that cannot run must not hide our own figures
            print(f"{row['name']}: PyTorch failed: {error}", file=sys.stderr)
        torch.cuda.empty_cache()


def print_table(report: dict) -> None:
    print(f"{report['device']}, driver {report['driver']}; PyTorch {report.get('torch', 'not measured')}; "
          f"copy {report['copy_bytes_per_second'] * 1e-9:.0f} GB/s; "
          f"replayed launch {report['dispatch']['gpu'] * 1e6:.2f} us GPU, {report['dispatch']['host'] * 1e6:.2f} us host")
    print(f"{'benchmark':<48} {'weft us':>9} {'GB/s':>7} {'TF/s':>7} {'torch us':>9} {'weft/torch':>10} {'graph us':>9} {'spread':>6}")
    for row in report["results"]:
        torch_us = f"{row['torch_seconds'] * 1e6:9.1f}" if "torch_seconds" in row else " " * 9
        ratio = f"{row['torch_seconds'] / row['seconds']:9.2f}x" if "torch_seconds" in row else " " * 10
        graph_us = f"{row['torch_graph_seconds'] * 1e6:9.1f}" if row.get("torch_graph_seconds") else " " * 9
        flops = f"{row['flops'] / row['seconds'] * 1e-12:7.1f}" if row["flops"] else " " * 7
        print(f"{row['name']:<48} {row['seconds'] * 1e6:9.1f} {row['bytes'] / row['seconds'] * 1e-9:7.0f} {flops} {torch_us} {ratio} "
              f"{graph_us} {row['spread'] * 100:5.0f}%")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("patterns", nargs="*")
    parser.add_argument("--json", default="")
    parser.add_argument("--seconds", default="0.05")
    arguments = parser.parse_intermixed_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "bench.json")
        bench = subprocess.run([arguments.bundle / "weft", "bench", "--seconds", arguments.seconds, "--json", file, *arguments.patterns],
                               stdout=subprocess.DEVNULL)
        if bench.returncode != 0:
            return bench.returncode
        report = json.loads(file.read_text())
    report["date"] = datetime.date.today().isoformat()
    report["command"] = " ".join(["tools/gpu_report.py", *sys.argv[1:]])
    if torch and torch.cuda.is_available():
        add_peers(report["results"])
        report["torch"] = torch.__version__
        report["torch_device"] = torch.cuda.get_device_name()
    else:
        print("PyTorch or its GPU is not there: Weft is measured alone.", file=sys.stderr)
    print_table(report)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(report, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
