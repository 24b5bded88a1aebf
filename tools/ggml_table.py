"""The table of docs/ggml.md, made from docs/ggml.json: what is supported, and what passed on which device."""
import datetime
import json
from pathlib import Path

from ggml_cases import ROOT, Case, Listed

PAGE = ROOT / "docs" / "ggml.md"
DATA = ROOT / "docs" / "ggml.json"
BEGIN, END = "<!-- table -->\n", "<!-- end of table -->\n"


def support_of(cases: dict[Case, Listed]) -> dict[str, list[int]]:
    """By op: the cases, those that ggml's CPU backend supports, and those that Weft supports."""
    support: dict[str, list[int]] = {}
    for case, known in cases.items():
        row = support.setdefault(case.op, [0, 0, 0])
        for at, yes in enumerate((True, known.cpu, known.weft)):
            row[at] += known.count if yes else 0
    return support


def run_of(results: dict[str, str], left: dict[str, int], device: str) -> dict:
    """By op: cases that passed, that failed, and that are still to be run. A case that cannot be compared is none of these."""
    ops: dict[str, list[int]] = {op: [0, 0, count] for op, count in left.items()}
    for name, state in results.items():
        row = ops.setdefault(name.split("(")[0], [0, 0, 0])
        row[0] += state == "OK"
        row[1] += state == "FAIL"
    return {"device": device, "date": datetime.date.today().isoformat(), "ops": dict(sorted(ops.items()))}


def merged(data: dict, support: dict[str, list[int]], run: dict | None) -> dict:
    """The data with this support and, in place of an older run on the same device, this run."""
    runs = [old for old in data.get("runs", []) if run is None or old["device"] != run["device"]]
    return data | {"support": support, "runs": runs + ([run] if run else [])}


def cell(row: list[int] | None) -> str:
    if row is None or (row[2] and not row[0] + row[1]):
        return "not run"
    text = str(row[0])
    if row[1]:
        text += f", {row[1]} failed"
    if row[2]:
        text += f", {row[2]} not run"
    return text


def table(data: dict) -> list[str]:
    runs = data["runs"] or [{"device": "", "ops": {}}]
    heads = [f"passed on {run['device']}" if run["device"] else "passed" for run in runs]
    lines = [f"| op | cases | ggml CPU | Weft | {' | '.join(heads)} |", "|---|---:|---:|---:|" + "---:|" * len(runs)]
    totals, run_totals = [0, 0, 0], [[0, 0, 0] for _ in runs]
    for op in sorted(set(data["support"]) | {op for run in runs for op in run["ops"]}):
        known = data["support"].get(op, [0, 0, 0])
        cells = [str(number) for number in known]
        for total, run in zip(run_totals, runs):
            row = run["ops"].get(op)
            cells.append(cell(row))
            total[:] = [a + b for a, b in zip(total, row or [0, 0, known[2]])]  # Without a row it has not run.
        totals = [a + b for a, b in zip(totals, known)]
        lines.append(f"| {op} | {' | '.join(cells)} |")
    ends = [str(total) for total in totals] + [cell(total) for total in run_totals]
    lines.append(f"| **all** | {' | '.join(ends)} |")
    if listed := data.get("listed"):
        lines.append(f"| of these listed by `support` | {' | '.join(map(str, listed))} |" + " |" * len(runs))
    return lines


def page_with(lines: list[str], page: str) -> str:
    head, _, rest = page.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return head + BEGIN + "\n".join(lines) + "\n" + END + tail


def page() -> str:
    """docs/ggml.md as it should be; tools/check_docs compares."""
    return page_with(table(stored()), PAGE.read_text())


def write(data: dict) -> None:
    DATA.write_text(json.dumps(data, indent=None, separators=(",", ":")).replace('"runs"', '\n"runs"').replace("],", "],\n") + "\n")
    PAGE.write_text(page_with(table(data), PAGE.read_text()))


def stored() -> dict:
    return json.loads(DATA.read_text()) if DATA.exists() else {}


def self_test() -> None:
    """Counting and joining must not go wrong unseen."""
    run = run_of({"A(x)": "OK", "A(y)": "FAIL", "A(z)": "not supported [CPU]", "G(x)": "OK"}, {"B": 2}, "dev")
    assert run["ops"] == {"A": [1, 1, 0], "B": [0, 0, 2], "G": [1, 0, 0]}, run
    data = merged({"runs": [{"device": "dev", "ops": {}}, {"device": "old", "ops": {"B": [2, 0, 0]}}]},
                  {"A": [3, 2, 3], "B": [2, 2, 2], "G": [1, 1, 1]}, run)
    assert table(data)[2:] == ["| A | 3 | 2 | 3 | not run | 1, 1 failed |", "| B | 2 | 2 | 2 | 2 | not run |",
                               "| G | 1 | 1 | 1 | not run | 1 |", "| **all** | 6 | 5 | 6 | 2, 4 not run | 2, 1 failed, 2 not run |"]
    assert table(data | {"listed": [5, 4, 4]})[-1] == "| of these listed by `support` | 5 | 4 | 4 | | |"
