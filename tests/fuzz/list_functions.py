#!/usr/bin/env python3
"""Writes what a fuzz target needs to call every function of the C API: list_functions.py OUTPUT HEADERS…

FUNCTION(name) for each function, and for each structure an overload of `fill` that gives a value to each of its members.
"""
import re
import sys
from pathlib import Path

# Each of these would make a run useless: a limit of time that loses devices, which then cannot be closed.
LEFT_OUT = {"weft_device_set_watchdog"}
# A limit of memory that ends all other calls; scopes that free what a sequence goes on with; uploads, whose bytes have to stay; a list whose length
# is that of an array.
LEFT_OUT |= {"weft_device_set_memory_limit", "weft_scope_begin", "weft_scope_keep", "weft_scope_end", "weft_upload_start", "weft_upload_is_ready",
             "weft_upload_get", "weft_supports", "weft_device_get_memory_report"}


def main() -> None:
    output, headers = Path(sys.argv[1]), sys.argv[2:]
    text = "\n".join(re.sub(r"//[^\n]*|/\*.*?\*/", "", Path(h).read_text(), flags=re.S) for h in sorted(headers))
    lines = []
    for name, body in re.findall(r"typedef struct (weft_\w+) \{(.*?)\} \1;", text, re.S):
        lines.append(f"STRUCTURE({name})")
        members = [re.search(r"(\w+)\s*(?:\[\w+\])*$", m.strip())[1] for m in body.split(";") if m.strip()]
        values = [f"value.{m} = sizeof(value);" if m == "size" and members[0] == "size" else f"give(value.{m});" for m in members]
        lines.append(f"void Arguments::fill({name}& value) {{ {' '.join(values)} }}")
    functions = sorted(set(re.findall(r"WEFT_API\s+weft_status\s+(weft_\w+)\(", text)) - LEFT_OUT)
    lines += [f"FUNCTION({name})" for name in functions]
    structures = [line for line in lines if line.startswith("STRUCTURE")]
    fills = [line for line in lines if line.startswith("void")]
    calls = [line for line in lines if line.startswith("FUNCTION")]
    parts = {"STRUCTURES": structures, "FILLS": fills, "FUNCTIONS": calls}
    whole = "".join(f"#ifdef WEFT_{part}\n" + "\n".join(rows) + "\n#endif\n" for part, rows in parts.items())
    if not output.exists() or output.read_text() != whole:
        output.write_text(whole)


main()
