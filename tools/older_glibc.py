"""Lets a library run with an older C library than the one that it was linked with: what it needs of later versions becomes optional."""
import struct
from pathlib import Path

DYNSYM, VERSYM, VERNEED = 11, 0x6FFFFFFF, 0x6FFFFFFE
WEAK, ANY = 2, 1
UNIQUE, GLOBAL = 10, 1


def text(data: bytes, at: int) -> str:
    return data[at:data.index(b"\0", at)].decode()


def sections(data: bytes) -> dict[int, tuple[int, int, int, int]]:
    """Offset, size, number of the linked section and its offset, by type; the last of each."""
    start, = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    heads = [struct.unpack_from("<IIQQQQIIQQ", data, start + i * size) for i in range(count)]
    return {head[1]: (head[4], head[5], heads[head[6]][4], head[7]) for head in heads}


def version(name: str) -> tuple[int, ...]:
    return tuple(int(part) for part in name.removeprefix("GLIBC_").split("."))


def loosened(path: Path, newest: tuple[int, int]) -> list[str]:
    """Takes the version off the symbols that the library needs of a C library after `newest`; their names. The loader then takes any version
    of them. The list of versions names an older one twice in place of a late one, so that nobody insists on that, auditwheel neither."""
    data = bytearray(path.read_bytes())
    found = sections(data)
    if VERNEED not in found:
        return []
    at, _, names, count = found[VERNEED]
    late: set[int] = set()
    for _ in range(count):
        _, members, _, aux, following = struct.unpack_from("<HHIII", data, at)
        member = at + aux
        older: tuple[int, int] | None = None
        places: list[int] = []
        for _ in range(members):
            hashed, _, number, name, step = struct.unpack_from("<IHHII", data, member)
            what = text(data, names + name)
            if what.startswith("GLIBC_ABI"):
                raise ValueError(f"{path.name} needs {what}, which no older C library has")
            if what.startswith("GLIBC_2") and version(what) > newest:
                late.add(number)
                places.append(member)
            else:
                older = older or (hashed, name)
            member += step
        for place in places:
            struct.pack_into("<H", data, place + 4, WEAK)
            if older:
                struct.pack_into("<I", data, place, older[0])
                struct.pack_into("<I", data, place + 8, older[1])
        at += following
    symbols, size, strings, _ = found[DYNSYM]
    versions = found[VERSYM][0]
    freed = []
    for i in range(size // 24):
        number, = struct.unpack_from("<H", data, versions + 2 * i)
        if number in late:
            struct.pack_into("<H", data, versions + 2 * i, ANY)
            freed.append(text(data, strings + struct.unpack_from("<I", data, symbols + 24 * i)[0]))
    path.write_bytes(data)
    return freed


def separated(path: Path) -> None:
    """Lets a library have its own copies of what is unique in a process. Otherwise those of another libstdc++, which a package that was
    imported before has brought along, would be taken: tables of locales that do not fit."""
    data = bytearray(path.read_bytes())
    symbols, size, _, _ = sections(data)[DYNSYM]
    for at in range(symbols, symbols + size, 24):
        if data[at + 4] >> 4 == UNIQUE:
            data[at + 4] = GLOBAL << 4 | data[at + 4] & 15
    path.write_bytes(data)
