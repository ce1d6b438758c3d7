#!/usr/bin/env python3
"""Compares our headers with the installed Open MPI 4.1's: programs that print all constants, types and handles are compiled
by both, and must print the same. compare_headers.py OUR-C++-COMPILER OUR-FORTRAN-COMPILER; exit status 77 where Open MPI's
compilers are not there."""

import pathlib
import shutil
import subprocess
import sys
import tempfile

TREE = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TREE / "interfaces" / "mpi" / "generator"))

import c_types  # noqa: E402
import table  # noqa: E402

TYPES = ["MPI_Aint", "MPI_Offset", "MPI_Count", "MPI_Fint", "MPI_Status", *c_types.C_HANDLES.values(), "MPI_T_enum",
         "MPI_T_cvar_handle", "MPI_T_pvar_handle", "MPI_T_pvar_session"]
FUNCTION_TYPES = [
    "MPI_User_function", "MPI_Comm_errhandler_function", "MPI_File_errhandler_function", "MPI_Win_errhandler_function",
    "MPI_Comm_copy_attr_function", "MPI_Comm_delete_attr_function", "MPI_Type_copy_attr_function",
    "MPI_Type_delete_attr_function", "MPI_Win_copy_attr_function", "MPI_Win_delete_attr_function",
    "MPI_Grequest_query_function", "MPI_Grequest_free_function", "MPI_Grequest_cancel_function",
    "MPI_Datarep_extent_function", "MPI_Datarep_conversion_function", "MPI_Comm_errhandler_fn", "MPI_File_errhandler_fn",
    "MPI_Win_errhandler_fn", "MPI_Handler_function", "MPI_Copy_function", "MPI_Delete_function",
]
POINTERS = [
    "MPI_BOTTOM", "MPI_IN_PLACE", "MPI_UNWEIGHTED", "MPI_WEIGHTS_EMPTY", "MPI_STATUS_IGNORE", "MPI_STATUSES_IGNORE",
    "MPI_ERRCODES_IGNORE", "MPI_ARGV_NULL", "MPI_ARGVS_NULL", "MPI_T_ENUM_NULL", "MPI_T_CVAR_HANDLE_NULL",
    "MPI_T_PVAR_HANDLE_NULL", "MPI_T_PVAR_ALL_HANDLES", "MPI_T_PVAR_SESSION_NULL",
]
ATTRIBUTE_FUNCTIONS = [f"MPI_{kind}{what}_FN" for kind in ("", "COMM_", "TYPE_", "WIN_")
                       for what in ("DUP", "NULL_COPY", "NULL_DELETE")]
# Open MPI has them in its library and mpif.h, not in mpi.h.
NOT_THERE_IN_C = {"MPI_INTEGER16", "MPI_REAL2", "MPI_UB", "MPI_LB", "MPI_COMBINER_HVECTOR_INTEGER",
                  "MPI_COMBINER_HINDEXED_INTEGER", "MPI_COMBINER_STRUCT_INTEGER", "PMPIX_Query_cuda_support"}
# Removed by MPI-3.0, before which no parameter was constant.
WITHOUT_CONST = {"MPI_Address", "MPI_Type_hindexed", "MPI_Type_struct"}


def handle_names(tables):
    objects, _ = table.read_objects(tables)
    return [name for item in objects for name in item.names if "::" not in name]


def function_names(tables):
    names = [f.name for f in table.read_functions(tables)]
    names += [text.split("(")[0] for _, text in table.joined_lines(tables / "tools")]
    both = [prefix + name for name in names for prefix in ("", "P")]
    return [name for name in both if name not in NOT_THERE_IN_C and name.removeprefix("P") not in WITHOUT_CONST]


def cxx_program(tables):
    """Types by their mangled names, which hold all of them."""
    constants = [name for name, _ in table.read_header_constants(tables, "c") if name not in NOT_THERE_IN_C]
    handles = [name for name in handle_names(tables) if name not in NOT_THERE_IN_C]
    lines = ["#include <mpi.h>", "#include <mpi-ext.h>", "#include <dlfcn.h>", "#include <cstddef>", "#include <cstdio>",
             "#include <typeinfo>", "template <class T> void type(const char* name) {",
             '  std::printf("%s %s\\n", name, typeid(T).name());', "}",
             "void number(const char* name, long long value) {", '  std::printf("%s %lld\\n", name, value);', "}",
             "void place(const char* name, const void* address) {", "  Dl_info found{};",
             '  std::printf("%s %s\\n", name, dladdr(address, &found) != 0 ? found.dli_sname : "?");', "}", "int main() {"]
    lines += [f'  number("{name}", {name});' for name in constants]
    lines += [f'  number("sizeof {name}", sizeof({name}));' for name in TYPES]
    lines += [f'  number("{field}", offsetof(MPI_Status, {field}));'
              for field in ("MPI_SOURCE", "MPI_TAG", "MPI_ERROR", "_cancelled", "_ucount")]
    lines += [f'  type<{name}>("{name}");' for name in TYPES + FUNCTION_TYPES]
    lines += [f'  type<decltype(&{name})>("{name}");' for name in function_names(tables) + ATTRIBUTE_FUNCTIONS]
    lines += [f'  type<decltype({name})>("{name}");' for name in handles + POINTERS]
    lines += [f'  number("{name}", reinterpret_cast<long long>({name}));' for name in POINTERS]
    lines += [f'  place("{name}", {name});' for name in handles]
    lines += [f'  place("{name}", reinterpret_cast<void*>(&{name}));' for name in ATTRIBUTE_FUNCTIONS]
    return "\n".join([*lines, "}", ""])


def fortran_program(tables, uses_module):
    """In fixed form, by mpif.h or by the module."""
    names = [name for name, _ in table.read_header_constants(tables, "fortran")] + handle_names(tables)
    lines = ["      program constants", "      use mpi" if uses_module else "      implicit none",
             "      implicit none" if uses_module else "      include 'mpif.h'"]
    for name in names:
        lines += [f"      print *, '{name}',", f"     &  {name},", f"     &  kind({name})"]
    lines += ["      print *, MPI_SUBARRAYS_SUPPORTED", "      print *, MPI_ASYNC_PROTECTS_NONBLOCKING",
              "      print *, size(MPI_STATUSES_IGNORE)", "      end"]
    return "\n".join([*lines, ""])


def printed_by(compiler, options, source):
    program = source.with_suffix(".program")
    made = subprocess.run([*compiler, *options, str(source), "-o", str(program)], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise SystemExit(f"{' '.join(compiler)} can't compile {source.name}:\n{made.stderr[:4000]}")
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()


def complaints(source, options, ours, theirs):
    here, there = printed_by(ours, options, source), printed_by(theirs, options, source)
    if len(here) < 100 or len(here) != len(there):
        yield f"{source.name}: {len(here)} lines here, {len(there)} there"
    for one, other in zip(here, there):
        if one != other:
            yield f"{source.name}: {one}\n  there: {other}"


def main():
    ours_cxx, ours_fortran = sys.argv[1:]
    if not shutil.which("mpicxx.openmpi"):
        print("Open MPI's compilers are not installed: apt-get install libopenmpi-dev openmpi-bin")
        return 77
    tables, found = table.tables_folder(), []
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "all.cpp"
        source.write_text(cxx_program(tables))
        # As C has it, with what MPI-3.0 removed.
        options = ["-w", "-DOMPI_SKIP_MPICXX", "-DOMPI_OMIT_MPI1_COMPAT_DECLS=0"]
        found += complaints(source, options, [ours_cxx], ["mpicxx.openmpi"])
        if shutil.which("mpifort.openmpi"):
            for uses_module in (False, True):
                source = pathlib.Path(folder) / ("module.f" if uses_module else "constants.f")
                source.write_text(fortran_program(tables, uses_module))
                found += complaints(source, ["-w"], [ours_fortran], ["mpifort.openmpi"])
    print("\n".join(found))
    print(f"{len(found)} complaints")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
