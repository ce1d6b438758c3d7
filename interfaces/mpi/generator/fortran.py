"""Writes the entry points of Fortran (mpif.h, and what Open MPI's modules call): they call C's.

All arguments are addresses; lengths of texts come behind all others, by value. Handles are numbers."""

import re

import c_types
import table

# They have forms of their own in Fortran, written by hand; see fortran_by_hand.hpp.
BY_HAND = {"MPI_Init", "MPI_Init_thread", "MPI_Wtime", "MPI_Wtick", "MPI_Pcontrol", "MPI_Buffer_detach"}
CONVERT = {"comm": "Comm", "group": "Group", "datatype": "Type", "op": "Op", "info": "Info", "errhandler": "Errhandler",
           "request": "Request", "message": "Message", "win": "Win", "file": "File"}


def has_fortran(function):
    return function.section != "handles" and function.name != "MPIX_Query_cuda_support"


def is_by_hand(function):
    calls_back = any(p.kind in {"function", "attribute"} for p in function.parameters)
    return function.name in BY_HAND or (calls_back and function.mark != "refused")


def fortran_name(function):
    """send_f of MPI_Send, with its prefix: ompi_send_f, ompix_barrier_init_f."""
    prefix, rest = function.name.split("_", 1)
    return f"o{prefix.lower()}_{rest.lower()}_f"


def fortran_type(p):
    constant = "const " if p.direction == "in" else ""
    if p.kind in {"buffer", "pointer", "argv", "attribute"}:
        return "void*"
    if p.kind == "function":
        return "Function"
    if p.kind == "string":
        return f"{constant}char*"
    return f"{constant}{'MPI_Aint' if p.kind in table.WIDE and p.kind != 'oldaint' else 'MPI_Fint'}*"


def parameters_text(function, names=True):
    texts = [p for p in function.parameters if p.kind == "string"]
    parts = [f"{fortran_type(p)} {p.name}" if names else fortran_type(p) for p in function.parameters]
    parts.append("MPI_Fint* ierror" if names else "MPI_Fint*")
    parts += [f"int {p.name}_length" if names else "int" for p in texts]
    return ", ".join(parts)


def length_text(length, function):
    """The table's expression: parameters are addresses here, and questions about communicators are asked in C."""
    known = {p.name for p in function.parameters}

    def replace(match):
        word = match[0]
        if word in {"size", "sources", "destinations"}:
            return f"{word}_of_comm"
        return f"*{word}" if word in known else word
    return re.sub(r"\b[a-z_]\w*\b", replace, length)


class Step:
    def __init__(self, argument, before=(), after=()):
        self.argument, self.before, self.after = argument, list(before), list(after)


def handle(p, function):
    name, c_type = CONVERT[p.kind], c_types.C_HANDLES[p.kind]
    if p.is_array:
        length = length_text(p.length, function)
        if p.condition == "unless":
            length = f"is_in_place({p.of}) ? 0 : {length}"
        before = [f"Values<{c_type}> {p.name}_list({length});"]
        if p.direction != "out":
            before.append(f"for (std::size_t i = 0; i < {p.name}_list.count(); ++i) "
                          f"{p.name}_list[i] = PMPI_{name}_f2c({p.name}[i]);")
        else:
            before.append(f"for (std::size_t i = 0; i < {p.name}_list.count(); ++i) "
                          f"{p.name}_list[i] = PMPI_{name}_f2c(kNullNumber);")
        after = [] if p.direction == "in" else [f"for (std::size_t i = 0; i < {p.name}_list.count(); ++i) "
                                                f"{p.name}[i] = PMPI_{name}_c2f({p.name}_list[i]);"]
        return Step(f"{p.name}_list.data()", before, after)
    if p.direction == "in":
        return Step(f"PMPI_{name}_f2c(*{p.name})")
    start = f"PMPI_{name}_f2c(*{p.name})" if p.direction == "inout" else "nullptr"
    condition = "" if p.direction == "inout" else f"if ({p.name}_handle != nullptr) "
    return Step(f"&{p.name}_handle", [f"{c_type} {p.name}_handle = {start};"],
                [f"{condition}*{p.name} = PMPI_{name}_c2f({p.name}_handle);"])


def string(p):
    if p.direction == "in":
        return Step(f"{p.name}_text.c_str()", [f"const std::string {p.name}_text = c_text({p.name}, {p.name}_length);"])
    room = re.sub(r"\bvaluelen\b", "*valuelen", p.length)
    store = f"store_blank_padded({p.name}_text.data(), {p.name}, {p.name}_length);"
    if p.condition == "if":
        store = f"if (*{p.of} != 0) {store}"
    return Step(f"{p.name}_text.data()", [f"std::string {p.name}_text(room_of_text({room}), '\\0');"], [store])


def oldaint(p, function):
    if p.is_array:
        return Step(f"{p.name}_list.data()", [
            f"Values<MPI_Aint> {p.name}_list({length_text(p.length, function)});",
            f"for (std::size_t i = 0; i < {p.name}_list.count(); ++i) {p.name}_list[i] = {p.name}[i];"])
    if p.direction == "in":
        return Step(f"*{p.name}")
    return Step(f"&{p.name}_value", [f"MPI_Aint {p.name}_value = 0;"],
                [f"*{p.name} = static_cast<MPI_Fint>({p.name}_value);"])


def index(p):
    if not p.is_array:
        return Step(p.name, [], [f"if (*{p.name} >= 0) ++*{p.name};"])
    return Step(p.name, [], [f"for (int i = 0; i < *{p.length}; ++i) ++{p.name}[i];"])


def step(p, function):
    if p.kind in table.HANDLES:
        return handle(p, function)
    if p.kind == "status":
        constant = "const " if p.direction == "in" else ""
        which = "statuses" if p.is_array else "status"
        return Step(f"{which}_at<{constant}MPI_Status>({p.name})")
    if p.kind == "string":
        return string(p)
    if p.kind == "oldaint":
        return oldaint(p, function)
    if p.kind == "index":
        return index(p)
    if p.kind == "buffer":
        return Step(f"buffer_at({p.name})")
    if p.kind == "weights":
        return Step(f"weights_at({p.name})")
    by_value = p.direction == "in" and not p.is_array and p.kind not in {"pointer", "argv"}
    return Step(f"*{p.name}" if by_value else p.name)


def body(function):
    steps = [step(p, function) for p in function.parameters]
    if function.is_collective:
        lines = ["const FortranCallScope scope(program_site(__builtin_return_address(0), __builtin_dwarf_cfa()));"]
    else:
        lines = ["const ToldFortranCall call([returns_to = __builtin_return_address(0), frame = __builtin_dwarf_cfa()] {",
                 "  return program_site(returns_to, frame);", "});"]
    lines += [line for each in steps for line in each.before]
    arguments = ", ".join(each.argument for each in steps)
    after = [line for each in steps for line in each.after]
    lines.append(f"const int code = {function.p_name}({arguments});")
    inout = [line for each, p in zip(steps, function.parameters) if p.direction == "inout" for line in each.after]
    after = [line for line in after if line not in inout]
    # What has changed is stored even where the call has failed; results only of one that has not.
    lines += inout
    if after:
        lines += ["if (code == kSuccess) {", *(f"  {line}" for line in after), "}"]
    return [*lines, "store_error(code, ierror);"]


def forward(function):
    arguments = ", ".join([p.name for p in function.parameters])
    return [f"coracle_{fortran_name(function)}({arguments}, ierror);"]


def aliases(function):
    """All names under which compilers and interfaces call it."""
    symbol, (prefix, rest) = fortran_name(function), function.name.split("_", 1)
    names = []
    for first in (prefix, f"P{prefix}"):
        lower = f"{first}_{rest}".lower()
        names += [lower, f"{lower}_", f"{lower}__", lower.upper(), f"{first}_{rest}_f", f"{first}_{rest}_f08"]
    return [f'[[gnu::weak, gnu::alias("{symbol}")]] {symbol}_type {name};' for name in names]


def definition(function):
    symbol = fortran_name(function)
    parameters = parameters_text(function)
    if function.mark == "refused":
        zeros = ", ".join("{}" for _ in function.parameters)
        lines = [f"store_error({function.p_name}({zeros}), ierror);"]
        parameters = parameters_text(function, names=False).replace("MPI_Fint*", "MPI_Fint*")
        kinds = [fortran_type(p) for p in function.parameters]
        texts = ["int" for p in function.parameters if p.kind == "string"]
        parameters = ", ".join([*kinds, "MPI_Fint* ierror", *texts])
    else:
        lines = forward(function) if is_by_hand(function) else body(function)
    result = [f"using {symbol}_type = void({parameters_text(function, names=False)});"]
    if is_by_hand(function):
        result.append(f"void coracle_{symbol}({parameters_text(function)});")
    return [*result, f"void {symbol}({parameters}) {{", *(f"  {line}" for line in lines), "}", *aliases(function), ""]


OWN_FORMS = {"MPI_Init", "MPI_Init_thread", "MPI_Wtime", "MPI_Wtick", "MPI_Pcontrol"}


def section_text(functions):
    lines = ['#include "interfaces/mpi/entry_points.hpp"', '#include "interfaces/mpi/openmpi/fortran/arguments.hpp"',
             '#include "interfaces/mpi/openmpi/raw.hpp"', "", "namespace coracle::mpi::openmpi {", 'extern "C" {', ""]
    for function in functions:
        if has_fortran(function) and function.name not in OWN_FORMS:
            lines += definition(function)
    return "\n".join([*lines, '}  // extern "C"', "}  // namespace coracle::mpi::openmpi", ""])


SIZES = {"character": 1, "complex32": 8, "complex64": 16, "complex128": 32, "int8": 1, "int16": 2, "int32": 4, "int64": 8,
         "logical": 4, "real32": 4, "real64": 8, "real128": 16}


def sizes_text():
    """MPI_SIZEOF, which the compiler resolves by type and rank."""
    lines = ["namespace {", "", "using Integer = int;", "void give(Integer bytes, Integer* size, Integer* error) {",
             "  *size = bytes;", "  *error = 0;", "}", "", "}  // namespace", "", 'extern "C" {', ""]
    for kind, size in SIZES.items():
        for rank in ["scalar", *(f"r{n}" for n in range(1, 16))]:
            for prefix in ("mpi", "pmpi"):
                lines.append(f"void {prefix}_sizeof_{kind}_{rank}_(const void*, Integer* size, Integer* error) "
                             f"{{ give({size}, size, error); }}")
    return "\n".join([*lines, "", '}  // extern "C"', ""])
