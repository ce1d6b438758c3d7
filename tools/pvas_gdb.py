"""gdb command pvas-symbols: loads the symbols of the task that gdb is attached to.

A task's /proc/PID/exe is the root of its address space, so gdb reads the wrong program and finds none of the task's libraries.
This reads the files that are mapped in the task's own partition and adds each at its place.

    gdb -p PID -x tools/pvas_gdb.py -ex pvas-symbols -ex bt

pvas-symbols PARTITION_GIB: for a space that was made with other partitions than of 16 GiB.
"""

import gdb

ARENA_BEGIN = 0x120000000000
ARENA_END = 0x540000000000


class PvasSymbols(gdb.Command):
    def __init__(self):
        super().__init__("pvas-symbols", gdb.COMMAND_FILES)

    def invoke(self, argument, from_tty):
        size = (int(argument) if argument else 16) << 30
        place = int(gdb.parse_and_eval("(unsigned long)$sp")) & (1 << 64) - 1
        pid = gdb.selected_inferior().pid
        if not ARENA_BEGIN <= place < ARENA_END:
            raise gdb.GdbError(f"process {pid} is no task: its stack pointer {place:#x} lies in no partition")
        begin = ARENA_BEGIN + (place - ARENA_BEGIN) // size * size
        bases = {}
        with open(f"/proc/{pid}/maps", encoding="ascii", errors="replace") as maps:
            for line in maps:
                words = line.split(maxsplit=5)
                if len(words) < 6 or not words[5].startswith("/"):
                    continue
                address = int(words[0].split("-")[0], 16)
                if begin <= address < begin + size and int(words[2], 16) == 0:
                    bases.setdefault(words[5].strip(), address)
        for path, base in bases.items():
            try:
                gdb.execute(f"add-symbol-file {path} -o {base:#x}", to_string=True)
            except gdb.error as error:
                if "not in executable format" not in str(error) and "not recognized" not in str(error):
                    gdb.write(f"{path}: {error}\n")


PvasSymbols()
