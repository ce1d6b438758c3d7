"""Writes what Open MPI's interface has for programs in C: the parts of mpi.h and mpi-ext.h that the tables know."""

import textwrap

import c_types
import table

# Handles point to these: their names are part of those of C++ functions that take handles.
HANDLE_STRUCTS = {
    "comm": "ompi_communicator_t", "group": "ompi_group_t", "datatype": "ompi_datatype_t", "op": "ompi_op_t",
    "info": "ompi_info_t", "errhandler": "ompi_errhandler_t", "request": "ompi_request_t", "message": "ompi_message_t",
    "win": "ompi_win_t", "file": "ompi_file_t",
}
# What the table does not tell of functions that are written by hand as a whole: result and parameters.
RAW = {
    "MPI_Init": ("int", "int* argc, char*** argv"),
    "MPI_Init_thread": ("int", "int* argc, char*** argv, int required, int* provided"),
    "MPI_Wtime": ("double", "void"),
    "MPI_Wtick": ("double", "void"),
    "MPI_Pcontrol": ("int", "const int level, ..."),
    "MPI_Status_c2f": ("int", "const MPI_Status* c_status, MPI_Fint* f_status"),
    "MPI_Status_f2c": ("int", "const MPI_Fint* f_status, MPI_Status* c_status"),
}
ARGUMENT_LISTS = {"argv": "char* {}[]", "commands": "char* {}[]", "argvs": "char** {}[]"}
WIDE_TYPES = {"aint": "MPI_Aint", "oldaint": "MPI_Aint", "offset": "MPI_Offset", "bigcount": "MPI_Count"}
# What replaces a function that MPI-2 deprecated; those marked "same" say so themselves.
REPLACED = {"MPI_Type_extent": "MPI_Type_get_extent", "MPI_Type_lb": "MPI_Type_get_extent",
            "MPI_Type_ub": "MPI_Type_get_extent"}
FUNCTION_TYPES = {
    "MPI_Grequest_start": "MPI_Grequest_{role}_function", "MPI_Op_create": "MPI_User_function",
    "MPI_Keyval_create": "MPI_{Role}_function", "MPI_Errhandler_create": "MPI_Handler_function",
    "MPI_Register_datarep": "MPI_Datarep_{role}_function",
}
DATAREP_ROLES = {"read": "conversion", "write": "conversion"}


def function_type(function, p):
    """The type of a function that the program hands over, by the names that the standard gives them."""
    role = p.name.split("_")[0]
    kind = function.name.split("_")[1]
    pattern = FUNCTION_TYPES.get(function.name)
    if pattern is None:
        ending = "errhandler_function" if function.name.endswith("_create_errhandler") else f"{role}_attr_function"
        return f"MPI_{kind}_{ending}"
    return pattern.format(role=DATAREP_ROLES.get(role, role), Role=role.capitalize())


def scalar_type(p):
    return WIDE_TYPES.get(p.kind) or c_types.c_scalar(p.kind)


def parameter(p, function):
    if p.kind in {"buffer", "pointer", "attribute"}:
        return f"{'const ' if p.const else ''}void* {p.name}"
    if p.kind == "function":
        return f"{function_type(function, p)}* {p.name}"
    if p.kind == "argv":
        return ARGUMENT_LISTS[p.name].format(p.name)
    scalar = scalar_type(p)
    if p.is_array:
        constant = "const " if p.direction == "in" else ""
        triples = p.length.startswith("3 *")  # (of which the standard has no constant ones)
        return f"{scalar} {p.name}[][3]" if triples else f"{constant}{scalar} {p.name}[]"
    if p.direction != "in":
        return f"{scalar}* {p.name}"
    return f"const {scalar}* {p.name}" if p.kind in {"status", "string"} else f"{scalar} {p.name}"


def conversion(name):
    """MPI_X_c2f and MPI_X_f2c."""
    handle, direction = name.rsplit("_", 1)
    handle = {"MPI_Type": "MPI_Datatype"}.get(handle, handle)
    return ("MPI_Fint", f"{handle} handle") if direction == "c2f" else (handle, "MPI_Fint number")


def signature(function):
    """(result, parameters) in C."""
    if function.name in RAW:
        return RAW[function.name]
    if function.section == "handles":
        return conversion(function.name)
    return "int", ", ".join(parameter(p, function) for p in function.parameters) or "void"


def replacement(function):
    return function.word if function.mark == "same" else REPLACED.get(function.name)


def wrapped(declaration):
    """In lines that end with a comma."""
    text = declaration.replace(" ", "\0").replace(",\0", ", ")
    lines = textwrap.wrap(text, 100, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    return [line.replace("\0", " ") for line in lines]


def prototype(function):
    """Of the function and its twin for profiling."""
    result, parameters = signature(function)
    instead = replacement(function)
    lines = wrapped(f"{result} {function.name}({parameters})")
    if instead:
        lines.append(f'    CORACLE_MPI_DEPRECATED("use {instead}")')
    lines[-1] += ";"
    return [*lines, *wrapped(f"{result} {function.p_name}({parameters});")]


def prototypes(functions):
    lines, section = [], None
    for function in functions:
        if function.section != section:
            section = function.section
            lines += ["", f"/* {section.replace('_', ' ').capitalize()}. */"]
        lines += prototype(function)
    return lines[1:]


def tools(tables):
    lines = ["/* Tools. */"]
    for _, text in table.joined_lines(tables / "tools"):
        lines += [*wrapped(f"int {text};"), *wrapped(f"int P{text};")]
    return lines


def constants(tables):
    return [f"#define {name} {value if value >= 0 else f'({value})'}"
            for name, value in table.read_header_constants(tables, "c")]


def handles(objects):
    """The exported objects, and the constants that are their addresses."""
    lines = [f"extern struct {HANDLE_STRUCTS[item.kind]} {item.symbol};" for item in objects]
    for item in objects:
        lines += [f"#define {name} (&{item.symbol})" for name in item.names if "::" not in name]
    return lines


def handle_types():
    return [f"typedef struct {HANDLE_STRUCTS[kind]}* {c_types.C_HANDLES[kind]};" for kind in table.HANDLES]


def parts(tables):
    """{marker in a template: lines}."""
    functions = table.read_functions(tables)
    objects, _ = table.read_objects(tables)
    return {
        "HANDLE_TYPES": handle_types(),
        "CONSTANTS": constants(tables),
        "HANDLES": handles(objects),
        "PROTOTYPES": prototypes(f for f in functions if f.section != "extensions"),
        "TOOLS": tools(tables),
        "EXTENSIONS": prototypes(f for f in functions if f.section == "extensions"),
    }
