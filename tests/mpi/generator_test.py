#!/usr/bin/env python3
"""The generator of MPI's entry points: what it takes for an entry, what it complains of, and what it writes."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "interfaces" / "mpi" / "generator"))

import c_entry_points  # noqa: E402
import c_types  # noqa: E402
import fortran  # noqa: E402
import table  # noqa: E402
import values  # noqa: E402


def entry(text):
    return table.parse_entry(text, "send", "here:1")


class TheTable(unittest.TestCase):
    def test_has_each_function_with_parameters_that_can_be_translated(self):
        functions = table.read_functions(table.tables_folder())
        self.assertGreater(len(functions), 400)
        for function in functions:
            self.assertTrue(c_entry_points.section_text([function]))
            self.assertTrue(fortran.section_text([function]))

    def test_gives_handles_distinct_numbers_in_fortran(self):
        objects, _ = table.read_objects(table.tables_folder())
        for kind in table.HANDLES:
            numbers = [item.number for item in objects if item.kind == kind]
            self.assertEqual(len(numbers), len(set(numbers)), kind)

    def test_translates_each_class_of_the_abi_there_and_back(self):
        classes = table.read_constants(table.tables_folder())["class"]
        known = [(core, abi) for _, core, abi in classes if abi is not None]
        self.assertEqual(len({core for core, _ in known}), len(known))
        self.assertEqual(len({abi for _, abi in known}), len(known))


    def test_gives_classes_that_the_abi_has_instead_of_those_that_it_has_not(self):
        abi_by_name = {name: abi for name, _, abi in table.read_constants(table.tables_folder())["class"]}
        substitutes = table.read_substitutes(table.tables_folder())
        self.assertTrue(substitutes)
        for missing, given in substitutes.items():
            self.assertIsNone(abi_by_name[missing], missing)
            self.assertIsNotNone(abi_by_name[given], given)
        to_abi = values.class_tables([("MPI_ERR_ARG", 2, 7), ("MPI_ERR_OTHER", 0, 5), ("MPI_ERR_NEW", 1, None),
                                      ("MPI_ERR_NEWER", 3, None)], {"MPI_ERR_NEW": "MPI_ERR_ARG"})[0]
        self.assertIn("{5, 7, 7, 5}", to_abi)


class AnEntry(unittest.TestCase):
    def test_tells_directions_lengths_and_conditions(self):
        made = entry("core MPI_Thing(const buffer b, out status statuses[2 * n] if flag, datatype t unless b in place, "
                     "int n, out logical flag)")
        self.assertEqual([p.kind for p in made.parameters], ["buffer", "status", "datatype", "int", "logical"])
        self.assertTrue(made.parameters[0].const)
        self.assertEqual((made.parameters[1].length, made.parameters[1].condition, made.parameters[1].of),
                         ("2 * n", "if", "flag"))
        self.assertEqual((made.parameters[2].condition, made.parameters[2].of), ("unless", "b"))

    def test_is_refused_with_its_place(self):
        for text in ("core MPI_Thing(thing x)", "core MPI_Thing(datatype t at root)", "core windows MPI_Thing(int x)",
                     "refused MPI_Thing(int x)", "some MPI_Thing(int x)", "core Thing(int x)"):
            with self.assertRaisesRegex(table.TableError, "here:1"):
                entry(text)

    def test_becomes_the_declaration_of_the_core(self):
        made = entry("core MPI_Thing(entries n, inout request requests[n], out fitting count, string key, out length l)")
        self.assertEqual(c_types.core_declaration(made),
                         "void thing(std::span<Request*> requests, Count& count, const char* key);")


class AnEntryPoint(unittest.TestCase):
    def test_looks_at_no_handle_that_does_not_count(self):
        made = entry("core MPI_Thing(const buffer b, datatype t unless b in place, datatype u at root, rank root, comm comm)")
        text = "\n".join(c_entry_points.body(made))
        self.assertIn('b == kInPlace ? nullptr : object_of(t, "t")', text)
        self.assertIn('is_root(comm_object, root) ? object_of(u, "u") : nullptr', text)

    def test_asks_the_communicator_s_error_handler(self):
        self.assertIn('failed("MPI_Thing", comm)', "\n".join(c_entry_points.body(entry("core MPI_Thing(comm comm)"))))
        self.assertIn('failed("MPI_Thing")', "\n".join(c_entry_points.body(entry("core MPI_Thing(int x)"))))

    def test_of_fortran_counts_from_one(self):
        made = entry("core MPI_Thing(out index i)")
        self.assertIn("if (*i >= 0) ++*i;", "\n".join(fortran.body(made)))

    def test_that_is_not_written_says_so(self):
        made = entry("core MPI_Thing(comm comm)")
        made.todo = True
        self.assertIn('return not_written("MPI_Thing");', "\n".join(c_entry_points.definition(made)))


if __name__ == "__main__":
    unittest.main()
