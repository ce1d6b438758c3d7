#!/usr/bin/env python3
"""Writes one file from the tables: generate.py WHAT OUTPUT. Meson calls it for each."""

import pathlib
import sys

import c_entry_points
import fortran
import table
import values


def text_of(what, folder):
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
    if what == "by_hand":
        return c_entry_points.core_text(functions, "hand", "coracle::mpi::openmpi::by_hand")
    if what == "entry_points":
        return c_entry_points.declarations_text(functions)
    if what == "values":
        return values.constants_text(table.read_constants(folder), table.read_substitutes(folder))
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
    pathlib.Path(output).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
