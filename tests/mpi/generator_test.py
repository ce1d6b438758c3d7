#!/usr/bin/env python3
"""The generator of MPI's entry points: what it takes for an entry, what it complains of, and what it writes."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "interfaces" / "mpi" / "generator"))

import c_entry_points  # noqa: E402
import c_header  # noqa: E402
import c_types  # noqa: E402
import fortran  # noqa: E402
import fortran_header  # noqa: E402
import generate  # noqa: E402
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


class AHeader(unittest.TestCase):
    def test_is_whole(self):
        for name in generate.HEADERS:
            text = generate.header_text(name, table.tables_folder())
            self.assertNotRegex(text, "(?m)^@")
            self.assertGreater(len(text.splitlines()), 100, name)

    def test_has_a_function_as_c_declares_it(self):
        made = entry("core MPI_Thing(const buffer b, int counts[n], int n, offset at, status s, out comm comms[n])")
        self.assertEqual(c_header.prototype(made), [
            "int MPI_Thing(const void* b, const int counts[], int n, MPI_Offset at, const MPI_Status* s,",
            "    MPI_Comm comms[]);",
            "int PMPI_Thing(const void* b, const int counts[], int n, MPI_Offset at, const MPI_Status* s,",
            "    MPI_Comm comms[]);"])

    def test_names_the_types_of_the_program_s_functions(self):
        for text, wanted in (("hand MPI_Win_create_keyval(function copy_fn)", "MPI_Win_copy_attr_function* copy_fn"),
                             ("hand MPI_File_create_errhandler(function fn)", "MPI_File_errhandler_function* fn"),
                             ("hand MPI_Keyval_create(function delete_fn)", "MPI_Delete_function* delete_fn"),
                             ("hand MPI_Register_datarep(function read_fn)", "MPI_Datarep_conversion_function* read_fn")):
            self.assertEqual(c_header.signature(entry(text))[1], wanted)

    def test_warns_of_what_was_deprecated(self):
        made = entry("same MPI_Other MPI_Thing(int n)")
        self.assertEqual(c_header.prototype(made), ["int MPI_Thing(int n)", '    CORACLE_MPI_DEPRECATED("use MPI_Other");',
                                                    "int PMPI_Thing(int n);"])

    def test_of_fortran_fits_fixed_and_free_form(self):
        for line in generate.header_text("mpif.h", table.tables_folder()).splitlines():
            self.assertRegex(line, "^(!.*|      [a-z].*|)$")
            self.assertNotIn("&", line)
            self.assertLessEqual(len(line), 72)

    def test_of_fortran_has_a_text_s_room_without_the_zero(self):
        rooms = [dict(table.read_header_constants(table.tables_folder(), language))["MPI_MAX_ERROR_STRING"]
                 for language in ("c", "fortran")]
        self.assertEqual(rooms, [256, 255])

    def test_of_fortran_takes_any_buffer_and_statuses_by_columns(self):
        made = entry("core MPI_Thing(buffer b, int n, out status statuses[n], aint places[n])")
        self.assertEqual(fortran_header.interface_of(made), [
            "subroutine MPI_Thing(b, n, statuses, places, ierror)", "  import :: MPI_ADDRESS_KIND, MPI_STATUS_SIZE",
            "  type(*), dimension(*) :: b", "!GCC$ ATTRIBUTES NO_ARG_CHECK :: b", "  integer, intent(in) :: n",
            "  integer :: statuses(MPI_STATUS_SIZE, *)", "  integer(MPI_ADDRESS_KIND), intent(in) :: places(*)",
            "  integer :: ierror", "end subroutine MPI_Thing"])


if __name__ == "__main__":
    unittest.main()
