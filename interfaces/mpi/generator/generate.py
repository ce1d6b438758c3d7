#!/usr/bin/env python3
"""Writes one file from the tables: generate.py WHAT OUTPUT. Meson calls it for each."""

import pathlib
import sys

import c_entry_points
import c_header
import fortran
import fortran_header
import table
import values

# Of programs; each has a template beside its name.
HEADERS = {"mpi.h": c_header, "mpi-ext.h": c_header, "mpif.h": fortran_header, "mpi.f90": fortran_header}


def header_text(name, tables):
    """The template with its lines @PART@ replaced."""
    parts = HEADERS[name].parts(tables)
    template = (tables.parent / "openmpi" / "include" / f"{name}.in").read_text()
    lines = []
    for line in template.splitlines():
        lines += parts[line.strip("@")] if line.startswith("@") else [line]
    return "\n".join([*lines, ""])


def text_of(what, folder):
    if what in HEADERS:
        return header_text(what, folder)
    functions = table.read_functions(folder)
    if ":" in what:
        interface, section = what.split(":")
        chosen = [f for f in functions if f.section == section]
        if not chosen:
            raise table.TableError(f"there is no section {section}")
        return {"c": c_entry_points, "fortran": fortran}[interface].section_text(chosen)
    if what == "fortran_sizes":
        return fortran.sizes_text()
    if what == "core":
        return c_entry_points.core_text(functions, "core", "coracle::mpi")
    if what == "collective_names":
        return c_entry_points.collective_names_text(functions)
    if what == "by_hand":
        return c_entry_points.core_text(functions, "hand", "coracle::mpi::openmpi::by_hand")
    if what == "entry_points":
        return c_entry_points.declarations_text(functions)
    if what == "values":
        return values.constants_text(table.read_constants(folder), table.read_substitutes(folder),
                                     table.read_header_constants(folder, "c"))
    objects, data = table.read_objects(folder)
    return {"objects": lambda: values.objects_text(objects, data),
            "object_declarations": lambda: values.object_declarations_text(objects)}[what]()


def main():
    what, output = sys.argv[1:]
    try:
        text = text_of(what, table.tables_folder())
    except table.TableError as error:
        print(error, file=sys.stderr)
        return 1
    path = pathlib.Path(output)
    if not path.exists() or path.read_text() != text:  # what depends on one that is the same is not built again
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
