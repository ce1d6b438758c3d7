"""Writes what Open MPI's interface has for programs in Fortran: the parts of mpif.h and of the module mpi that the tables
know."""

import textwrap

import fortran
import table

KINDS = {"aint": "MPI_ADDRESS_KIND", "offset": "MPI_OFFSET_KIND", "bigcount": "MPI_COUNT_KIND"}
# Forms that only Fortran has: (name, dummies), (declarations).
OWN_FORMS = [
    ("MPI_Init", ["ierror"], ["integer :: ierror"]),
    ("MPI_Init_thread", ["required", "provided", "ierror"], ["integer, intent(in) :: required",
                                                             "integer :: provided, ierror"]),
    ("MPI_Pcontrol", ["level"], ["integer, intent(in) :: level"]),
    ("MPI_F_sync_reg", ["buf"], ["type(*), dimension(*) :: buf", "!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf"]),
]
TYPES_OF_SIZES = {
    "character": "character(len=*)", "complex32": "complex(real32)", "complex64": "complex(real64)",
    "complex128": "complex(real128)", "int8": "integer(int8)", "int16": "integer(int16)", "int32": "integer(int32)",
    "int64": "integer(int64)", "logical": "logical", "real32": "real(real32)", "real64": "real(real64)",
    "real128": "real(real128)",
}


def constant(name, value):
    """In lines that fixed and free form take."""
    kind = "integer(kind=MPI_OFFSET_KIND)" if name == "MPI_DISPLACEMENT_CURRENT" else "integer"
    return [f"      {kind} {name}", f"      parameter ({name}={value})"]


def constants(tables):
    objects, _ = table.read_objects(tables)
    handles = [(name, item.number) for item in objects for name in item.names if "::" not in name]
    return [line for pair in table.read_header_constants(tables, "fortran") + handles for line in constant(*pair)]


def integer(p, function):
    if p.kind == "attribute":  # of MPI-1's functions an INTEGER
        return "integer" if function.mark == "same" else "integer(MPI_ADDRESS_KIND)"
    if p.kind == "logical":
        return "logical"
    return f"integer({KINDS[p.kind]})" if p.kind in KINDS else "integer"


def choice_buffer(name):
    """Memory of any type and rank."""
    return [f"type(*), dimension(*) :: {name}", f"!GCC$ ATTRIBUTES NO_ARG_CHECK :: {name}"]


def declarations(p, function):
    if p.kind == "buffer" or function.name == "MPI_Buffer_detach" and p.kind == "pointer":
        return choice_buffer(p.name)
    if p.kind == "pointer":
        return [f"integer(MPI_ADDRESS_KIND) :: {p.name}"]
    if p.kind == "function":
        return [f"external :: {p.name}"]
    intent = ", intent(in)" if p.direction == "in" else ""
    if p.kind == "string":
        return [f"character(len=*){intent} :: {p.name}"]
    if p.kind == "argv":
        return [f"character(len=*), intent(in) :: {p.name}({'count, *' if p.name == 'argvs' else '*'})"]
    if p.kind == "status":
        return [f"integer{intent} :: {p.name}(MPI_STATUS_SIZE{', *' if p.is_array else ''})"]
    shape = ("(3, *)" if p.length.startswith("3 *") else "(*)") if p.is_array else ""
    return [f"{integer(p, function)}{intent} :: {p.name}{shape}"]


def subroutine(name, dummies, lines):
    head = textwrap.wrap(f"subroutine {name}({', '.join(dummies)})", 100)
    uses = sorted({word for word in (*KINDS.values(), "MPI_STATUS_SIZE") if any(word in line for line in lines)})
    imports = [f"  import :: {', '.join(uses)}"] if uses else []
    return [" &\n      ".join(head), *imports, *(line if line.startswith("!") else f"  {line}" for line in lines),
            f"end subroutine {name}"]


def interface_of(function):
    lines = [line for p in function.parameters for line in declarations(p, function)]
    return subroutine(function.name, [*(p.name for p in function.parameters), "ierror"], [*lines, "integer :: ierror"])


def pointer_twin(function):
    """The form that gives a TYPE(C_PTR), under the same generic name."""
    name = f"{function.name}_cptr"
    text = "\n".join(interface_of(function)).replace(function.name, name)
    pointer = next(p.name for p in function.parameters if p.kind == "pointer")
    text = text.replace(f"integer(MPI_ADDRESS_KIND) :: {pointer}", f"type(C_PTR) :: {pointer}")
    return text.replace("  import ::", "  import :: C_PTR,").split("\n")


def interfaces(functions):
    lines = ["interface"]
    for name, dummies, declared in OWN_FORMS:
        lines += subroutine(name, dummies, declared)
    generic = []
    for function in functions:
        if not fortran.has_fortran(function) or function.name in fortran.OWN_FORMS:
            continue
        made = interface_of(function)
        if any(p.kind == "pointer" for p in function.parameters) and function.name != "MPI_Buffer_detach":
            generic += [f"interface {function.name}", *made, *pointer_twin(function), f"end interface {function.name}"]
        else:
            lines += made
    return [*lines, "end interface", *generic]


def sizes():
    """MPI_Sizeof by type. The library's functions do not look at the variable, so those of scalars do for all ranks."""
    lines = ["interface MPI_Sizeof"]
    for kind in fortran.SIZES:
        lines += [f"subroutine mpi_sizeof_{kind}_scalar(x, size, ierror)", "  use, intrinsic :: iso_fortran_env",
                  f"  {TYPES_OF_SIZES[kind]}, dimension(..) :: x", "  integer :: size, ierror",
                  f"end subroutine mpi_sizeof_{kind}_scalar"]
    return [*lines, "end interface MPI_Sizeof"]


def handle_types():
    names = ["Comm", "Datatype", "Errhandler", "File", "Group", "Info", "Message", "Op", "Request", "Win"]
    return [line for name in names for line in
            (f"type, bind(C) :: MPI_{name}", "  integer(C_INT) :: MPI_VAL", f"end type MPI_{name}")]


def indented(lines):
    return ["\n".join(part if part.startswith("!") else f"  {part}" for part in line.split("\n")) for line in lines]


def parts(tables):
    """{marker in a template: lines}."""
    functions = table.read_functions(tables)
    return {
        "CONSTANTS": constants(tables),
        "HANDLE_TYPES": indented(handle_types()),
        "INTERFACES": indented(interfaces(functions)),
        "SIZES": indented(sizes()),
    }
