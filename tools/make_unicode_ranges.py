#!/usr/bin/env python3
"""Writes src/formats/unicode_ranges.hpp from the Unicode Character Database (Debian: the package unicode-data).

usage: tools/make_unicode_ranges.py [--data DIR] [--version X.Y] [--check]

Tokenizers split text by these categories, so a newer Unicode would split some texts otherwise than the programs that the
models were made for: only characters of --version (default: 15.1, as in llama.cpp) are listed, whatever the data's own
version is. --check compares and writes nothing.
"""
import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADER = ROOT / "src" / "formats" / "unicode_ranges.hpp"
PER_LINE = 6


def parse_ranges(text: str, wanted) -> set[int]:
    """The code points of the lines `FIRST..LAST ; VALUE` whose value is wanted."""
    points: set[int] = set()
    for line in text.splitlines():
        match = re.match(r"([0-9A-F]+)(?:\.\.([0-9A-F]+))?\s*;\s*([\w.]+)", line)
        if match and wanted(match[3]):
            points.update(range(int(match[1], 16), int(match[2] or match[1], 16) + 1))
    return points


def categories(text: str) -> dict[int, str]:
    """The general category of every code point in UnicodeData.txt, which names large blocks by their first and last one."""
    found: dict[int, str] = {}
    first = 0
    for line in text.splitlines():
        fields = line.split(";")
        point = int(fields[0], 16)
        if fields[1].endswith(", First>"):
            first = point
        for at in range(first if fields[1].endswith(", Last>") else point, point + 1):
            found[at] = fields[2]
    return found


def runs(points: set[int]) -> list[tuple[int, int]]:
    out: list[list[int]] = []
    for point in sorted(points):
        if out and out[-1][1] == point - 1:
            out[-1][1] = point
        else:
            out.append([point, point])
    return [(first, last) for first, last in out]


def table(name: str, comment: str, points: set[int]) -> str:
    pairs = [f"{{0x{first:x}, 0x{last:x}}}," for first, last in runs(points)]
    lines = [" ".join(pairs[at:at + PER_LINE]) for at in range(0, len(pairs), PER_LINE)]
    body = "\n".join(f"    {line}" for line in lines)
    return f"/// {comment}\ninline constexpr std::array<Range, {len(pairs)}> {name}{{{{\n{body}\n}}}};\n"


def header(data: Path, version: str) -> str:
    limit = tuple(int(part) for part in version.split("."))
    known = parse_ranges((data / "DerivedAge.txt").read_text(), lambda age: tuple(int(part) for part in age.split(".")) <= limit)
    category = categories((data / "UnicodeData.txt").read_text())
    spaces = parse_ranges((data / "PropList.txt").read_text(), lambda value: value == "White_Space")

    def of(*names: str) -> set[int]:
        return {point for point, name in category.items() if name in names and point in known}

    return f"""#pragma once

#include <array>
#include <cstdint>

// Written by tools/make_unicode_ranges.py: the code points of some general categories in Unicode {version}.

namespace weft::unicode {{

/// A run of code points: its first and its last one.
struct Range {{
  std::uint32_t first;
  std::uint32_t last;
}};

// clang-format off
{table("letters", "Letters: the categories Lu, Ll, Lt, Lm and Lo.", of("Lu", "Ll", "Lt", "Lm", "Lo"))}
{table("numbers", "Numbers: the categories Nd, Nl and No.", of("Nd", "Nl", "No"))}
{table("spaces", "White space.", spaces & known)}// clang-format on

}}  // namespace weft::unicode
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("/usr/share/unicode"))
    parser.add_argument("--version", default="15.1")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    if not (args.data / "UnicodeData.txt").exists():
        sys.exit(f"weft: {args.data} has no UnicodeData.txt; on Debian the package unicode-data has it (or name a folder with --data)")
    text = header(args.data, args.version)
    if args.check:
        if text != HEADER.read_text():
            sys.exit(f"weft: {HEADER} is not what this program makes of {args.data}")
        return 0
    HEADER.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
