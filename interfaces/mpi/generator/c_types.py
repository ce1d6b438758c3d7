"""How a parameter looks in C (Open MPI's binary interface), and to the core's functions."""

import table

INTEGERS = {"int", "entries", "index", "count", "fitting", "logical", "rank", "tag", "keyval", "code", "class", "weights", "length",
            *table.ENUMERATIONS}
C_HANDLES = {"comm": "MPI_Comm", "group": "MPI_Group", "datatype": "MPI_Datatype", "op": "MPI_Op", "info": "MPI_Info",
             "errhandler": "MPI_Errhandler", "request": "MPI_Request", "message": "MPI_Message", "win": "MPI_Win",
             "file": "MPI_File"}


def c_scalar(kind):
    if kind in INTEGERS:
        return "int"
    if kind in table.WIDE:
        return "MPI_Aint"
    return C_HANDLES.get(kind) or {"status": "MPI_Status", "string": "char"}[kind]


def c_type(p):
    """In the entry point's declaration."""
    if p.kind in {"buffer", "pointer", "attribute"}:
        return "const void*" if p.const else "void*"
    if p.kind == "function":
        return "Function"
    if p.kind == "argv":
        return "void*"
    scalar = c_scalar(p.kind)
    if p.direction != "in":
        return f"{scalar}*"
    by_place = p.is_array or p.kind in {"status", "string"}
    return f"const {scalar}*" if by_place else scalar


def core_array(p):
    if p.kind in table.HANDLES:
        constant = " const" if p.direction == "in" else ""
        return f"std::span<{table.HANDLES[p.kind]}*{constant}>"
    if p.kind == "status":
        return "std::span<Status>"
    if p.direction == "in":
        return "const int*" if p.kind == "logical" else "Numbers"
    return "Count*" if p.kind in table.WIDE else "int*"


def core_type(p):
    """In the core's declaration; None for what the core does not see."""
    if p.kind in {"length", "entries"}:
        return None
    if p.is_array:
        return core_array(p)
    if p.kind == "status":
        return {"in": "const Status&", "out": "Status*", "inout": "Status&"}[p.direction]
    if p.kind == "string":
        return "const char*" if p.direction == "in" else "std::string&"
    if p.kind in {"buffer", "attribute", "function", "argv", "win", "file"}:
        return c_type(p)
    if p.kind in table.HANDLES:
        scalar = f"{table.HANDLES[p.kind]}*"
    elif p.kind in {"count", "fitting", *table.WIDE}:
        scalar = "Count"
    else:
        scalar = {"logical": "bool", "pointer": "void*"}.get(p.kind, "int")
    return scalar if p.direction == "in" else f"{scalar}&"


def c_parameters(function):
    return ", ".join(f"{c_type(p)} {p.name}" for p in function.parameters)


def core_declaration(function):
    if function.form:
        types = ", ".join(core_type(p) for p in function.parameters)
        return f"extern const CollectiveForms<{types}> {function.base};"
    parameters = ", ".join(f"{core_type(p)} {p.name}" for p in function.parameters if core_type(p))
    return f"void {function.core}({parameters});"
