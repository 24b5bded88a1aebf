"""Called by embed_wgsl.cmake: write_embedded_wgsl.py [--bare] DIR OUTPUT SHADER…"""
import collections
import lzma
import math
import re
import sys
from pathlib import Path

SIGN = "[-:=<>+*/%&|^?!]"
WORD = "[^-:=<>+*/%&|^?!\\s]"


def bare(text: str) -> str:
    """A shader without comments, indentation, and the spaces and ends of lines that say nothing. Two signs with a space between them stay
    apart, and so do pairs of braces, which are those of the template language; its own lines (#…) are left as they are."""
    lines = []
    for line in re.sub(r" *//[^\n]*", "", text).split("\n"):
        line = line.strip(" ")
        if not line.startswith("#"):
            line = re.sub(r"(?<=[,;()\[\]]) | (?=[,;()\[\]])", "", line)
            line = re.sub(f"(?<={SIGN}) (?={WORD})|(?<={WORD}) (?={SIGN})", "", line)
            line = re.sub(r"(?<!{){ (?!{)|(?<!}) }(?!})|(?<=[)\w]) {(?!{)", lambda brace: brace[0].strip(), line)
        joins = lines and line and lines[-1][-1] in ";{},(" and lines[-1][-1] + line[0] not in ("{{", "}}")
        if joins and not (line.startswith("#") or lines[-1].startswith("#")):
            lines[-1] += line
        elif line:
            lines.append(line)
    return "\n".join(lines)


TOKEN = re.compile(r"[\w.]+|<<=|>>=|&&|\|\||[=!<>+*/%&|^-]=|->|\+\+|--|<<|>>|//|/\*|\S")


def same(text: str, bared: str) -> bool:
    """Whether both are made of the same words and signs, and of the same lines of the template language."""
    sides = []
    for side in (re.sub(r" *//[^\n]*", "", text), bared):
        words: list[str] = []
        for line in side.split("\n"):
            own = line.strip(" ").startswith("#")  # A line of the template language.
            words += ["#begins", *TOKEN.findall(line), "#ends"] if own else TOKEN.findall(line)
        sides.append(words)
    return sides[0] == sides[1]


def checked(path: Path) -> str:
    text = path.read_text()
    bared = bare(text)
    if not same(text, bared):
        sys.exit(f"write_embedded_wgsl.py: without its spaces {path} says something else")
    return bared


PIECE = 8  # Letters that two shaders may have in common.
KNOWN = 15  # A piece that more shaders have says nothing about them.
FADING = 0.8  # What earlier shaders count less than the one before.


def alike(texts: list[str]) -> list[int]:
    """The texts in an order in which each has much in common with those before it: what compresses a page's program looks back
    32 KB only (see web/order_functions.py)."""
    pieces = [{text[k:k + PIECE] for k in range(len(text) - PIECE + 1)} for text in texts]
    known = collections.Counter(piece for own in pieces for piece in own)
    telling = [sorted(piece for piece in own if 2 <= known[piece] <= KNOWN) for own in pieces]
    who: dict[str, list[int]] = collections.defaultdict(list)
    for i, own in enumerate(telling):
        for piece in own:
            who[piece].append(i)
    left, likeness, order = dict.fromkeys(range(len(texts))), collections.Counter[int](), []
    while left:
        best = max(left, key=lambda i: (likeness[i] / math.sqrt(len(telling[i]) + 50), -i))
        order.append(best)
        del left[best]
        likeness = collections.Counter({i: FADING * value for i, value in likeness.items()})
        for piece in telling[best]:
            likeness.update(who[piece])
    return order


HEAD = """#include "ops/embedded.hpp"

#include <array>
"""


def plain(names: list[str], texts: list[str]) -> str:
    """C++ with one array for each text."""
    arrays = "".join(f'constexpr char text{i}[] = R"wgsl({text})wgsl";\n' for i, text in enumerate(texts))
    entries = "".join(f'    File{{"{name}", {{text{i}, sizeof(text{i}) - 1}}}},\n' for i, name in enumerate(names))
    return f"""{HEAD}
namespace weft::ops {{
namespace {{
using wgsl::File;
{arrays}constexpr std::array<File, {len(names)}> files = {{
{entries}}};
}}  // namespace

std::span<const File> embedded_files() {{ return files; }}
}}  // namespace weft::ops
"""


# What base/unpack.cpp reads.
FILTERS = [{"id": lzma.FILTER_LZMA1, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "lp": 0, "pb": 0}]


def packed(names: list[str], texts: list[str]) -> str:
    """C++ with all names and texts, each with a zero behind it, in one packed array. They are unpacked when they are first asked for."""
    order = alike(texts)
    text = "".join(f"{names[i]}\0{texts[i]}\0" for i in order).encode()
    data = lzma.compress(text, format=lzma.FORMAT_RAW, filters=FILTERS)
    rows = "".join("    " + "".join(f"{byte}, " for byte in data[k:k + 32]).rstrip() + "\n" for k in range(0, len(data), 32))
    return f"""{HEAD}#include <cstdint>
#include <string>

#include "base/unpack.hpp"

namespace weft::ops {{
namespace {{
using wgsl::File;
constexpr std::array<std::uint8_t, {len(data)}> packed = {{
{rows}}};

std::array<File, {len(names)}> files() {{
  static const std::string text = unpack(packed, {len(text)});
  std::array<File, {len(names)}> out;
  const char* at = text.c_str();
  for (File& file : out) {{
    for (std::string_view* part : {{&file.name, &file.text}}) {{
      *part = at;
      at += part->size() + 1;
    }}
  }}
  return out;
}}
}}  // namespace

std::span<const File> embedded_files() {{
  static const std::array<File, {len(names)}> all = files();
  return all;
}}
}}  // namespace weft::ops
"""


def main() -> None:
    arguments = [argument for argument in sys.argv[1:] if argument != "--bare"]
    bared = "--bare" in sys.argv
    folder, output = map(Path, arguments[:2])
    shaders = [Path(name) for name in arguments[2:]]
    texts = [(checked if bared else Path.read_text)(shader) for shader in shaders]
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text((packed if bared else plain)([str(shader.relative_to(folder)) for shader in shaders], texts))


if __name__ == "__main__":
    main()
