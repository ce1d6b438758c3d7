"""Reading what gdb looks at: a live process or a core file, whose memory may be damaged or missing."""

import struct

import gdb


class Unreadable(Exception):
    """Memory that is not there. Its text says where, and what was looked for."""

    def __init__(self, address, what):
        super().__init__(f"{what} at {address:#x} can't be read")


def read(address, size, what="memory"):
    if not 0 < address < 1 << 64 or size < 0:
        raise Unreadable(address, what)
    try:
        return bytes(gdb.selected_inferior().read_memory(address, size))
    except (gdb.error, OverflowError, ValueError):
        raise Unreadable(address, what) from None


def number(address, size, what, signed=False):
    return int.from_bytes(read(address, size, what), "little", signed=signed)


def pointer(address, what):
    return number(address, 8, what)


def text(address, what, longest=512):
    """A string that ends with a zero; cut where it is longer, or where memory ends."""
    found = b""
    while len(found) < longest:
        room = min(64, 4096 - (address + len(found)) % 4096)
        try:
            piece = read(address + len(found), room, what)
        except Unreadable:
            if not found:
                raise
            break
        end = piece.find(b"\0")
        if end >= 0:
            found += piece[:end]
            break
        found += piece
    return found.decode("utf-8", "replace")


class Place:
    """A std::source_location: what a pointer to two names, a line and a column leads to."""

    def __init__(self, address):
        self.file, self.function, self.line = "", "", 0
        record = pointer(address, "a place in the source")
        if record:
            file, function, self.line = struct.unpack("<QQI", read(record, 20, "a place in the source"))
            self.file = text(file, "a file's name")
            self.function = text(function, "a function's name") if function else ""

    def __str__(self):
        return f"{self.file.rpartition('/')[2]}:{self.line}" if self.line else "an unknown place"


# As DebuggerLayout has them (runtime/job/debugger_layout.hpp).
VERSION = 1
PARTS = {
    "diagnostics": "threads",
    "thread": "id first next running",
    "registration": "rank block loop next",
    "block": "phase pid",
    "loop": "clock now_ns running resumed_next stack_limit stack_bytes_max "
            "ready_slots ready_capacity ready_head ready_tail root_scope doorbell",
    "scope": "link waiters scopes running join cancelled",
    "link": "next previous",
    "waiter": "link coroutine what peer since_ns where",
    "promise": "parent loop scope awaited_at mode offset_in_frame",
}


class Layout:
    """The distances in one program's classes: layout.waiter.peer, for example."""

    def __init__(self, address):
        version, size = struct.unpack("<II", read(address, 8, "the debugger's layout"))
        if version != VERSION:
            raise gdb.GdbError(f"the program's layout has version {version}, this script knows {VERSION}: take the script "
                               "that was installed with the program's version of Coracle")
        words = [(part, name) for part, names in PARTS.items() for name in names.split()]
        values = struct.unpack_from(f"<{len(words)}I", read(address, size, "the debugger's layout"), 16)
        self.diagnostics_pointer = pointer(address + 8, "the debugger's layout")
        for part in PARTS:
            setattr(self, part, type(part, (), {})())
        for (part, name), value in zip(words, values):
            setattr(getattr(self, part), name, value)


def is_core():
    return "core dump file" in gdb.execute("info files", to_string=True)
