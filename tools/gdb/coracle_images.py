"""The programs that lie in the memory that gdb looks at, and their symbols.

A job in one address space (pvas) has the program once per rank, each in its own partition, of which gdb knows nothing. A
note in the program's file leads to what the other scripts read (runtime/job/debugger_layout.cpp); it is looked for in
memory, since files may have been stripped or replaced."""

import struct

import gdb

import coracle_memory as memory

LOAD, NOTE = 1, 4
# As runtime/pvas/partition_layout.hpp has them.
ARENA_BEGIN, ARENA_END = 0x120000000000, 0x540000000000


class Image:
    """A program or library that holds Coracle's runtime, at one place."""

    def __init__(self, path, begin, bias, end, layout):
        self.path, self.begin, self.bias, self.end, self.layout = path, begin, bias, end, layout


def mappings():
    """Of files: (begin, end, offset, path)."""
    if memory.is_core():
        lines = gdb.execute("info proc mappings", to_string=True).splitlines()
        words = [line.split(None, 4) for line in lines if line.strip().startswith("0x")]
        return [(int(w[0], 16), int(w[1], 16), int(w[3], 16), w[4].strip()) for w in words if len(w) == 5]
    found = []
    with open(f"/proc/{gdb.selected_inferior().pid}/maps", encoding="utf-8", errors="replace") as maps:
        for line in maps:
            words = line.rstrip("\n").split(None, 5)
            if len(words) == 6 and words[5].startswith("/"):
                begin, end = (int(word, 16) for word in words[0].split("-"))
                found.append((begin, end, int(words[2], 16), words[5].removesuffix(" (deleted)")))
    return found


def program_headers(begin):
    """(type, offset, address, bytes, alignment) of each part of the ELF file at `begin`; none where there is no such file."""
    try:
        header = memory.read(begin, 64)
        if header[:5] != b"\x7fELF\x02":
            return []
        offset, size, count = struct.unpack_from("<Q", header, 32)[0], *struct.unpack_from("<HH", header, 54)
        table = memory.read(begin + offset, size * count)
    except memory.Unreadable:
        return []
    parts = [struct.unpack_from("<IIQQQQQQ", table, size * i) for i in range(count)]
    return [(kind, at, address, length, alignment) for kind, _, at, address, _, length, _, alignment in parts]


def notes(bias, parts):
    """(name, kind, address of the contents) of each note."""
    for kind, _, address, length, alignment in parts:
        if kind != NOTE or length > 1 << 20:
            continue
        data = memory.read(bias + address, length, "notes of a program")
        unit = 8 if alignment == 8 else 4
        at = 0
        while at + 12 <= length:
            name_bytes, bytes_, number = struct.unpack_from("<III", data, at)
            contents = at + 12 + (name_bytes + 3) // 4 * 4
            if unit == 8:
                contents = (contents + 7) // 8 * 8
            yield data[at + 12:at + 12 + name_bytes], number, bias + address + contents
            at = contents + (bytes_ + unit - 1) // unit * unit


def images():
    """Those that hold the runtime. What can't be read is passed over: most files have no such note."""
    found = []
    without = set()
    for begin, _, offset, path in mappings():
        if offset != 0 or path in without:
            continue
        parts = program_headers(begin)
        first = next((address for kind, at, address, _, _ in parts if kind == LOAD and at == 0), None)
        if first is None:
            continue
        bias = begin - first // 4096 * 4096
        end = bias + max(address + length for kind, _, address, length, _ in parts if kind == LOAD)
        try:
            place = next((at for name, number, at in notes(bias, parts) if name == b"Coracle\0" and number == 1), None)
            if place is None:
                without.add(path)
                continue
            distance = memory.number(place, 8, "Coracle's note", signed=True)
            layout = memory.Layout(memory.pointer(place + distance, "where the debugger's layout lies"))
            found.append(Image(path, begin, bias, end, layout))
        except memory.Unreadable:
            without.add(path)
    return found


def symbol_at(address):
    """"f(int) + 12", or nothing."""
    answer = gdb.execute(f"info symbol {address:#x}", to_string=True)
    return "" if answer.startswith("No symbol") else answer.partition(" in section ")[0].strip()


def add_symbols(path, bias):
    """True where gdb could use the file."""
    try:
        gdb.execute(f'add-symbol-file "{path}" -o {bias:#x}', to_string=True)
        return True
    except gdb.error:
        return False


def know_symbols(address):
    """Sees to it that gdb has the symbols of whatever lies at `address`."""
    if not address or symbol_at(address):
        return
    files = mappings()
    path = next((each[3] for each in files if each[0] <= address < each[1]), None)
    begin = max((each[0] for each in files if each[3] == path and each[2] == 0 and each[0] <= address), default=None)
    if begin is not None:
        know_printers(files)
        first = next((at for kind, offset, at, _, _ in program_headers(begin) if kind == LOAD and offset == 0), 0)
        add_symbols(path, begin - first // 4096 * 4096)


def know_printers(files):
    """gdb has libstdc++'s pretty printers by its symbols; of a library in a partition of pvas it does not know."""
    if any("libstdc++" in (each.filename or "") for each in gdb.objfiles()):
        return
    for begin, _, offset, path in files:
        if offset == 0 and "/libstdc++.so" in path:
            add_symbols(path, begin)
            return


def know_partition(place, size):
    """Loads the symbols of every file in the partition of pvas that `place` lies in."""
    if not ARENA_BEGIN <= place < ARENA_END:
        raise gdb.GdbError(f"{place:#x}, the stack, lies in no partition: this process is no rank of pvas")
    begin = ARENA_BEGIN + (place - ARENA_BEGIN) // size * size
    files = sorted((start, path) for start, _, offset, path in mappings() if offset == 0 and begin <= start < begin + size)
    seen = set()
    for start, path in files:
        parts = program_headers(start)
        if path in seen or not parts:
            continue
        seen.add(path)
        if not add_symbols(path, start - next((at for kind, _, at, _, _ in parts if kind == LOAD), 0) // 4096 * 4096):
            print(f"note: gdb takes no symbols from {path}")


def has_ended(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def children_of(pid):
    """Those that live: a launcher also starts programs that end at once."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
        return [child for child in map(int, children.read().split()) if not has_ended(child)]


def attach_if_rank(pid):
    """Attaches to it in an inferior of its own, and stays if the runtime is in its memory."""
    before = gdb.selected_inferior().num
    known = {inferior.num for inferior in gdb.inferiors()}
    number = None
    try:
        gdb.execute("add-inferior -no-connection", to_string=True)
        number = next(inferior.num for inferior in gdb.inferiors() if inferior.num not in known)
        gdb.execute(f"inferior {number}", to_string=True)
        gdb.execute(f"attach {pid}", to_string=True)
        if any(memory.pointer(image.layout.diagnostics_pointer, "Diagnostics") for image in images()):
            return True
    except (gdb.error, memory.Unreadable, OSError) as problem:
        print(f"note: process {pid}: {problem}")
    if gdb.selected_inferior().pid:
        gdb.execute("detach", to_string=True)
    gdb.execute(f"inferior {before}", to_string=True)
    if number is not None:
        gdb.execute(f"remove-inferiors {number}", to_string=True)
    return False
