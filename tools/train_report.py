#!/usr/bin/env python3
"""Times steps of training of a GPT-2-small-sized model with a bundle's `weft train-bench` and with PyTorch in the same run.

usage: train_report.py BUNDLE_DIR [--json OUT.json] [--dtype f16|bf16] [--steps N] [--batch N] [--context N]

Both train the same model (Llama architecture, 124M parameters) on random tokens with mixed precision, AdamW and clipped
gradients; PyTorch runs eagerly, with its fused AdamW, its flash attention and autocast to bf16. Steps are timed after some
that compile and allocate. Peak memory is what each program had allocated at once; `driver` is what nvidia-smi saw grow.
"""
import argparse
import datetime
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from performance_table import READY_BAR, STEP_BARS  # noqa: E402

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("bundle")
parser.add_argument("--json", default="")
parser.add_argument("--dtype", default="f16", choices=["f16", "bf16"])
parser.add_argument("--steps", type=int, default=30)
parser.add_argument("--batch", type=int, default=8)
parser.add_argument("--context", type=int, default=1024)
TIME_BAR, MEMORY_BAR = 3.0, 1.5  # times PyTorch's


class DriverMemory(threading.Thread):
    """Most bytes that nvidia-smi reports while this runs, beyond those at the start; 0 where it is not there."""

    def __init__(self):
        super().__init__(daemon=True)
        self.before, self.most, self.stopped = self.used(), 0, False

    @staticmethod
    def used() -> int:
        try:
            out = subprocess.run(["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"], capture_output=True, text=True)
            return int(out.stdout.split()[0]) << 20
        except (OSError, ValueError, IndexError):
            return 0

    def run(self):
        while not self.stopped:
            self.most = max(self.most, self.used() - self.before)
            time.sleep(0.2)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stopped = True
        self.join()


def measure_weft(arguments) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "train.json")
        command = [f"{arguments.bundle}/weft", "train-bench", "--dtype", arguments.dtype, "--steps", str(arguments.steps),
                   "--batch", str(arguments.batch), "--context", str(arguments.context), "--json", str(file)]
        with DriverMemory() as driver:
            done = subprocess.run(command)
        if done.returncode:
            sys.exit(done.returncode)
        return json.loads(file.read_text()) | {"driver_bytes": driver.most}


def measure_torch(sizes: dict, steps: int) -> dict:
    import torch
    from torch import nn
    F = torch.nn.functional
    width, heads, hidden, context, batch, vocabulary = (sizes[k] for k in ("dim", "heads", "hidden", "context", "batch", "vocabulary"))
    size = width // heads
    angles = torch.outer(torch.arange(context).float(), 10000.0 ** (-torch.arange(0, size, 2).float() / size))
    cos, sin = (torch.cat([f(angles)] * 2, 1).cuda() for f in (torch.cos, torch.sin))

    def turn(x):  # [batch, heads, tokens, size]
        a, b = x.chunk(2, -1)
        return (x * cos + torch.cat([-b, a], -1) * sin).to(x.dtype)

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
            self.qkv = nn.Linear(width, 3 * width, bias=False)
            self.out = nn.Linear(width, width, bias=False)
            self.gate, self.up = (nn.Linear(width, hidden, bias=False) for _ in range(2))
            self.down = nn.Linear(hidden, width, bias=False)

        def forward(self, x):
            rows, length, _ = x.shape
            q, k, v = (t.view(rows, length, heads, size).transpose(1, 2) for t in self.qkv(self.norm1(x)).chunk(3, -1))
            y = F.scaled_dot_product_attention(turn(q), turn(k), v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(rows, length, width))
            h = self.norm2(x)
            return x + self.down(F.silu(self.gate(h)) * self.up(h))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(vocabulary, width)
            self.layers = nn.ModuleList(Layer() for _ in range(sizes["layers"]))
            self.norm = nn.RMSNorm(width)
            for p in self.parameters():
                if p.dim() > 1:
                    nn.init.normal_(p, std=0.02)

        def forward(self, tokens, labels):
            x = self.embedding(tokens)
            for layer in self.layers:
                x = layer(x)
            logits = F.linear(self.norm(x), self.embedding.weight)
            return F.cross_entropy(logits.view(-1, vocabulary), labels.view(-1))

    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = True
    with DriverMemory() as driver:
        model = Model().cuda()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
        batches = [torch.randint(vocabulary, (2, batch, context), device="cuda") for _ in range(4)]

        def run(count):
            for i in range(count):
                with torch.autocast("cuda", torch.bfloat16):
                    loss = model(*batches[i % 4])
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
            return loss.item()

        run(5)
        torch.cuda.reset_peak_memory_stats()
        start = time.monotonic()
        loss = run(steps)
        seconds = (time.monotonic() - start) / steps
        peak = torch.cuda.max_memory_allocated()
        reserved = torch.cuda.max_memory_reserved()
    return {"version": torch.__version__, "device": torch.cuda.get_device_name(), "parameters": sum(p.numel() for p in model.parameters()),
            "seconds": seconds, "tokens_per_second": batch * context / seconds, "peak_bytes": peak, "reserved_bytes": reserved,
            "driver_bytes": driver.most, "loss": loss}


def measured_torch(sizes: dict, steps: int) -> dict | None:
    """PyTorch's steps, or nothing where it or its GPU is not there."""
    try:
        import torch
    except ImportError:
        return None
    return measure_torch(sizes, steps) if torch.cuda.is_available() else None


def main() -> int:
    arguments = parser.parse_args()
    weft = measure_weft(arguments)
    torch = measured_torch(weft, arguments.steps)
    report = {"date": datetime.date.today().isoformat(), "command": " ".join(["tools/train_report.py", *sys.argv[1:]]), "weft": weft}
    for name, row in (("Weft", weft), ("PyTorch", torch)):
        if row:
            print(f"{name:<8} {row['parameters']:>12} parameters {row['seconds'] * 1e3:8.2f} ms/step {row['tokens_per_second']:10.0f} tokens/s  "
                  f"peak {row['peak_bytes'] * 1e-9:6.2f} GB (driver {row['driver_bytes'] * 1e-9:6.2f} GB)")
    if torch:
        time_ratio, memory_ratio = weft["seconds"] / torch["seconds"], weft["peak_bytes"] / torch["peak_bytes"]
        report |= {"torch": torch, "time_ratio": time_ratio, "time_bar": TIME_BAR, "memory_ratio": memory_ratio, "memory_bar": MEMORY_BAR}
        print(f"time: {time_ratio:.2f} x PyTorch's (bar {TIME_BAR}); peak memory: {memory_ratio:.2f} x (bar {MEMORY_BAR})")
    else:
        print("PyTorch or its GPU is not there: Weft is measured alone.", file=sys.stderr)
    for name, value, bar, unit in (("step", weft["seconds"] * 1e3, STEP_BARS[arguments.dtype], "ms"),
                                   ("ready", weft["start_up_seconds"], READY_BAR, "s")):
        print(f"{name}: {value:.1f} {unit} (bar {bar}): {'met' if value <= bar else 'missed'}")
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(report, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
