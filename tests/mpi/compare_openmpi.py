#!/usr/bin/env python3
"""Compares what our libraries export with what the installed Open MPI 4.1 does: names of functions, sizes of data; and the
table of constants with its mpi.h. compare_openmpi.py LIBMPI LIBMPI_MPIFH; exit status 77 where Open MPI is not there."""

import pathlib
import re
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path("/usr/lib/x86_64-linux-gnu")
TABLES = pathlib.Path(__file__).resolve().parent.parent.parent / "interfaces" / "mpi" / "tables"
# Of Open MPI's library, what is an interface: the rest are its own parts.
PUBLIC_NAME = re.compile(r"P?MPIX?_\w+|OMPI_C_MPI_\w+|OMPI_Affinity_str|mpi_\w+")
FORTRAN_NAME = re.compile(r"p?mpix?_\w+|P?MPIX?_\w+|ompix?_\w+_f")
# What Debian's C++ and Fortran libraries, which stay, need of libmpi is found in them.
STAYING = ("libmpi_cxx.so.40", "libmpi_usempif08.so.40", "libmpi_usempi_ignore_tkr.so.40")


def symbols(path, *options):
    """{name: (type, size)}."""
    text = subprocess.run(["nm", "-D", "-S", *options, path], check=True, capture_output=True, text=True).stdout
    found = {}
    for line in text.splitlines():
        words = line.split()
        size = int(words[1], 16) if len(words) == 4 else 0
        found[words[-1].split("@")[0]] = (words[-2], size)
    return found


def is_data(symbol):
    return symbol[0] in "BDRVGS"


def complaints_of_names(theirs, ours, pattern):
    for name, symbol in sorted(theirs.items()):
        if not pattern.fullmatch(name):
            continue
        if name not in ours:
            yield f"{name} is not exported"
        elif is_data(symbol) != is_data(ours[name]):
            yield f"{name} is {ours[name]} here, {symbol} there"
        elif is_data(symbol) and symbol[1] != ours[name][1]:
            yield f"{name} has {ours[name][1]} bytes here, {symbol[1]} there"


def complaints_of_users(ours):
    """What the libraries that stay ask for, and none of them or ours gives."""
    given = set(ours).union(*(symbols(FOLDER / name, "--defined-only") for name in STAYING))
    for name in STAYING:
        for symbol in symbols(FOLDER / name, "--undefined-only"):
            if re.match(r"P?MPI|p?mpi|ompi", symbol) and symbol not in given:
                yield f"{name} needs {symbol}"


def handle_names(header):
    """{symbol: MPI's names} of predefined handles."""
    found = {}
    for match in re.finditer(r"#\s*define (MPI_\w+)\s+OMPI_PREDEFINED_GLOBAL\s*\(\s*\w+\s*,\s*(\w+)\s*\)", header):
        found.setdefault(match[2], []).append(match[1])
    return found


def complaints_of_handles(header):
    text = (TABLES / "openmpi_objects").read_text()
    for symbol, names in handle_names(header).items():
        if not re.search(rf"^\w+ \+?{symbol} -?\d+ (?:.* )?{names[0]}\b", text, re.M):
            yield f"{symbol} is {names[0]} there, and not so in the table"


def complaints_of_constants(folder):
    """Compiles the table's values against mpi.h."""
    rows = [line.split() for line in (TABLES / "constants").read_text().splitlines() if line and line[0] != "#"]
    checks = [f'_Static_assert({name} == {abi}, "{name}");' for _, name, _, abi, *_ in rows if abi != "-"]
    source = folder / "constants.c"
    source.write_text("#include <mpi.h>\n" + "\n".join(checks) + "\n")
    result = subprocess.run(["cc", "-fsyntax-only", f"-I{FOLDER}/openmpi/include", str(source)], capture_output=True,
                            text=True, check=False)
    if result.returncode != 0:
        yield result.stderr


def complaints_of_numbers(folder):
    """Fortran's numbers of handles against mpif.h."""
    headers = list(pathlib.Path("/usr").glob("lib/x86_64-linux-gnu/fortran/*/openmpi/mpif-handles.h"))
    if not headers:
        return
    there = {name: int(value) for name, value in re.findall(r"parameter\s*\((\w+)\s*=\s*(\d+)\)", headers[0].read_text())}
    text = (TABLES / "openmpi_objects").read_text()
    for number, names in re.findall(r"^[a-z]+ \+?\w+ (\d+) (MPI_.*)$", text, re.M):
        for name in names.split():
            if name in there and there[name] != int(number):
                yield f"{name} is {there[name]} in Fortran there, {number} in the table"


def main():
    if not (FOLDER / "libmpi.so.40").exists() or not (FOLDER / "openmpi/include/mpi.h").exists():
        print("Open MPI is not installed: apt-get install libopenmpi-dev")
        return 77
    libmpi, libmpi_mpifh = sys.argv[1:]
    ours, fortran = symbols(libmpi, "--defined-only"), symbols(libmpi_mpifh, "--defined-only")
    header = (FOLDER / "openmpi/include/mpi.h").read_text()
    if not re.search(r"#define OMPI_MAJOR_VERSION 4\b", header):
        print("the installed Open MPI is not 4.1, whose interface this is")
        return 77
    complaints = list(complaints_of_names(symbols(FOLDER / "libmpi.so.40", "--defined-only"), ours, PUBLIC_NAME))
    complaints += complaints_of_names(symbols(FOLDER / "libmpi_mpifh.so.40", "--defined-only"), fortran, FORTRAN_NAME)
    complaints += complaints_of_users({**ours, **fortran})
    complaints += complaints_of_handles(header)
    with tempfile.TemporaryDirectory() as folder:
        complaints += complaints_of_constants(pathlib.Path(folder))
    complaints += complaints_of_numbers(folder)
    foreign = [name for name in {**ours, **fortran} if not re.match(r"P?MPIX?_|p?mpix?_|O?ompix?_|OMPI_|coracle_ompi", name)]
    complaints += [f"{name} is exported" for name in foreign]
    print("\n".join(complaints))
    print(f"{len(ours)} names of libmpi, {len(fortran)} of libmpi_mpifh; {len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
