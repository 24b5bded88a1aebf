"""Called by embed_wgsl.cmake: write_embedded_wgsl.py [--bare] DIR OUTPUT SHADER…"""
import re
import sys
from pathlib import Path

SIGN = "[-:=<>+*/%&|^?!]"
WORD = "[^-:=<>+*/%&|^?!\\s]"


def bare(text: str) -> str:
    """A shader without comments, indentation and spaces that say nothing. Two signs with a space between them stay apart, and so
    do braces, which may be those of the template language; its own lines (#…) are left as they are."""
    lines = []
    for line in re.sub(r" *//[^\n]*", "", text).split("\n"):
        line = line.strip(" ")
        if not line.startswith("#"):
            line = re.sub(r"(?<=[,;()\[\]]) | (?=[,;()\[\]])", "", line)
            line = re.sub(f"(?<={SIGN}) (?={WORD})|(?<={WORD}) (?={SIGN})", "", line)
        lines.append(line)
    return "\n".join(lines)


TOKEN = re.compile(r"[\w.]+|<<=|>>=|&&|\|\||[=!<>+*/%&|^-]=|->|\+\+|--|<<|>>|//|/\*|\S")


def same(text: str, bared: str) -> bool:
    """Whether both are made of the same words and signs, line by line."""
    lines = re.sub(r" *//[^\n]*", "", text).split("\n"), bared.split("\n")
    return [TOKEN.findall(line) for line in lines[0]] == [TOKEN.findall(line) for line in lines[1]]


def checked(path: Path) -> str:
    text = path.read_text()
    bared = bare(text)
    if not same(text, bared):
        sys.exit(f"write_embedded_wgsl.py: without its spaces {path} says something else")
    return bared


def main() -> None:
    arguments = [argument for argument in sys.argv[1:] if argument != "--bare"]
    read = checked if "--bare" in sys.argv else Path.read_text
    folder, output = map(Path, arguments[:2])
    shaders = [Path(name) for name in arguments[2:]]
    entries = "".join(f'    File{{"{shader.relative_to(folder)}", R"wgsl({read(shader)})wgsl"}},\n' for shader in shaders)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(f"""#include "ops/embedded.hpp"

#include <array>

namespace weft::ops {{
namespace {{
using wgsl::File;
constexpr std::array<File, {len(shaders)}> files = {{
{entries}}};
}}  // namespace

std::span<const File> embedded_files() {{ return files; }}
}}  // namespace weft::ops
""")


if __name__ == "__main__":
    main()
