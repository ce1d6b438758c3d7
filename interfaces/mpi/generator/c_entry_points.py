"""Writes the entry points of C: they translate, call, and answer errors."""

import re

import c_types
import table


class Translation:
    """What an entry point does for one parameter: statements before the call, the argument, statements after it."""

    def __init__(self, argument=None, before=(), after=()):
        self.argument, self.before, self.after = argument, list(before), list(after)


def length_text(length):
    """The table's expression in C++: size(comm) becomes a function of the translated handle."""
    return re.sub(r"\b(size|sources|destinations|cart_dims)\((\w+)\)", r"\1_of(\2_object)", length)


def conditional(p, function, value, otherwise):
    """`value`, or `otherwise` where the argument does not count."""
    if p.condition == "unless":
        return f"{p.of} == kInPlace ? {otherwise} : {value}"
    if p.condition == "at":
        return f"is_root({function.first('comm').name}_object, {p.of}) ? {value} : {otherwise}"
    return value


def handle_in(p, function):
    value = conditional(p, function, f'object_of({p.name}, "{p.name}")', "nullptr")
    if p.kind == "comm":  # others may ask it
        return Translation(f"{p.name}_object", [f"Comm* const {p.name}_object = {value};"])
    return Translation(value)


def handle_array(p, function):
    type_name = table.HANDLES[p.kind]
    length = conditional(p, function, length_text(p.length), "0")
    kind = {"in": "HandlesIn", "inout": "HandlesInOut", "out": "HandlesOut"}[p.direction]
    constant = "const " if p.direction == "in" else ""
    after = [f"{p.name}_list.store();"] if p.direction == "out" else []
    return Translation(f"{p.name}_list.span()",
                       [f'{constant}{kind}<{type_name}> {p.name}_list({length}, {p.name}, "{p.name}");'], after)


def handle(p, function):
    if p.is_array:
        return handle_array(p, function)
    if p.direction == "in":
        return handle_in(p, function)
    type_name = table.HANDLES[p.kind]
    kind = "HandleOut" if p.direction == "out" else "HandleInOut"
    return Translation(f"{p.name}_place.object()", [f'{kind}<{type_name}> {p.name}_place({p.name}, "{p.name}");'])


def status(p, function):
    if p.is_array:
        written = {"if": "&{}_value", "first": "&{}_value"}.get(p.condition, "").format(p.of)
        extra = f", {written}" if written else ""
        return Translation(f"{p.name}_list.span()", [f"StatusesOut {p.name}_list({p.length}, {p.name}{extra});"])
    if p.direction == "in":
        return Translation(f'status_from({p.name}, "{p.name}")')
    if p.direction == "out":
        return Translation(f"{p.name}_place.status()", [f"StatusOut {p.name}_place({p.name});"])
    return Translation(f"{p.name}_value", [f'Status {p.name}_value = status_from({p.name}, "{p.name}");'],
                       [f"store_status({p.name}_value, {p.name});"])


def string(p, function):
    if p.direction == "in":
        return Translation(p.name)
    length = next((q.name for q in function.parameters if q.kind == "length"), "nullptr")
    store = f"store_text({p.name}_text, {p.name}, {p.length}, {length});"
    if p.condition == "if":
        store = f"if ({p.of}_value) {store}"
    return Translation(f"{p.name}_text", [f'check_place({p.name}, "{p.name}");', f"std::string {p.name}_text;"], [store])


def from_abi(p, value):
    """The core's value of one of the ABI."""
    if p.kind in table.ENUMERATIONS:
        return f'{p.kind}_from({value}, "{p.name}")'
    if p.kind in {"code", "class"}:
        return f"code_from({value})"
    if p.kind == "logical":
        return f"{value} != 0"
    return f"{p.kind}_from({value})" if p.kind in {"rank", "tag", "keyval"} else value


def to_abi(p, value):
    if p.kind in {"code", "class"}:
        return f"code_to({value})"
    if p.kind == "logical":
        return f"{value} ? 1 : 0"
    if p.kind == "count":
        return f'int_of({value}, "{p.name}")'
    return f"{p.kind}_to({value})" if p.kind in {"rank", "tag", "keyval", "fitting", *table.ENUMERATIONS} else value


def array_check(p, function):
    """Refuses a null pointer where the array has elements, if its length is an argument. (A null pointer is
    MPI_ERRCODES_IGNORE, and weights have their own values.)"""
    lengths = {q.name: q.name for q in function.parameters if q.direction == "in" and not q.is_array}
    if p.condition == "first" or p.length == "outcount":  # an output: at most as many as there are requests
        lengths[p.length] = next(q.name for q in function.parameters if q.kind == "entries")
    if p.kind in {"weights", "code"} or p.length not in lengths:
        return []
    return [f'check_array({p.name}, {lengths[p.length]}, "{p.name}");']


def number_array(p, function):
    if p.direction == "in":
        if p.kind in {"rank", "distribution"}:
            convert = "rank_from" if p.kind == "rank" else "distribution_value_from"
            return Translation(f"{p.name}_list.data()", [f"const MappedIntegers {p.name}_list({p.length}, {p.name}, {convert});"])
        return Translation(f"weights_from({p.name})" if p.kind == "weights" else p.name, array_check(p, function))
    if p.kind == "weights":
        return Translation(f"weights_to({p.name})")
    after = [f"map_ranks({p.length}, {p.name});"] if p.kind == "rank" else []
    return Translation(p.name, array_check(p, function), after)


def number(p, function):
    if p.is_array:
        return number_array(p, function)
    if p.direction == "in":
        return Translation(from_abi(p, p.name))
    check = f'check_place({p.name}, "{p.name}");'
    same_type = p.kind in {"int", "index", *table.WIDE}
    if same_type:
        return Translation(f"*{p.name}", [check])
    type_name = c_types.core_type(p).rstrip("&")
    start = from_abi(p, f"*{p.name}") if p.direction == "inout" else ""
    before = [check, f"{type_name} {p.name}_value{{{start}}};"]
    store = f"*{p.name} = {to_abi(p, f'{p.name}_value')};"
    if p.name in {"flag", "outcount"}:  # beside requests that are gone, and statuses that are there, whatever is thrown
        return Translation(f"{p.name}_value", [*before, f"const AtEnd store_{p.name}([&] {{ {store} }});"])
    return Translation(f"{p.name}_value", before, [store])


def pointer(p, function):
    if p.direction == "in":
        return Translation(p.name)
    return Translation(f"{p.name}_value", [f'check_place({p.name}, "{p.name}");', f"void* {p.name}_value = nullptr;"],
                       [f"*static_cast<void**>({p.name}) = {p.name}_value;"])


def translation(p, function):
    if p.kind in {"buffer", "function", "attribute", "argv", "win", "file"}:
        return Translation(p.name)
    if p.kind in table.HANDLES:
        return handle(p, function)
    if p.kind in {"length", "entries"}:
        return Translation()
    return {"status": status, "string": string, "pointer": pointer}.get(p.kind, number)(p, function)


def needs_order(function):
    """Outputs on which others depend come first, then communicators, then the rest; the call keeps its own order."""
    asked = {p.of for p in function.parameters if p.condition in {"if", "first"}}

    def rank(p):
        return 0 if p.name in asked else 1 if p.kind == "comm" else 2
    return sorted(function.parameters, key=rank)


# What these try first (entry.hpp): it does all, or says that it has not.
FIRST_TRIES = {
    "MPI_Wait": "wait_for_plain(request, status)",
    "MPI_Waitall": "wait_for_plain(count, requests, statuses)",
    "MPI_Waitany": "take_first_done(count, requests, index, nullptr, status)",
    "MPI_Testany": "take_first_done(count, requests, index, flag, status)",
}


def body(function):
    translations = {p.name: translation(p, function) for p in function.parameters}
    if function.early:
        lines = ["const EarlyCall call;"]
    else:
        site = "[returns_to = __builtin_return_address(0)] { return call_site(returns_to); }"
        guard, elsewhere = ("LocalCall", ", call.is_elsewhere()") if function.local else ("RunningCall", "")
        lines = [f"const {guard} call;", f'const CallSpan span("{function.name}", {site}{elsewhere});']
    if function.is_collective:
        lines.append(f"const ProgramCallScope noted(kCollectiveNames.{function.name}, call_site(__builtin_return_address(0)));")
    if function.name in FIRST_TRIES:
        lines.append(f"if ({FIRST_TRIES[function.name]}) return kSuccess;")
    for p in needs_order(function):
        lines += translations[p.name].before
    arguments = ", ".join(translations[p.name].argument for p in function.parameters if translations[p.name].argument)
    space = "by_hand" if function.mark == "hand" else "mpi"
    lines.append(f"{space}::{function.core}({arguments});")
    for p in function.parameters:
        lines += translations[p.name].after
    comm = function.first("comm")
    on = f", {comm.name}" if comm else ""
    return ["try {", *(f"  {line}" for line in lines), "  return kSuccess;", "} catch (...) {",
            f'  return failed("{function.name}"{on});', "}"]


def refusal(function):
    if function.todo:
        return [f'return not_written("{function.name}");']
    return [f'return refused("{function.name}", "{function.word.replace("_", " ")}");']


def weak_twin(function):
    return (f'[[gnu::weak, gnu::alias("{function.p_name}")]] int {function.name}({c_types.c_parameters(function)});')


def definition(function):
    parameters = c_types.c_parameters(function)
    if function.mark == "same":
        return [f'[[gnu::alias("P{function.word}")]] int {function.p_name}({parameters});', weak_twin(function)]
    refuses = function.todo or function.mark == "refused"
    if refuses:
        parameters = ", ".join(c_types.c_type(p) for p in function.parameters)
    lines = refusal(function) if refuses else body(function)
    return [f"int {function.p_name}({parameters}) {{", *(f"  {line}" for line in lines), "}", weak_twin(function)]


def section_text(functions):
    lines = ['#include "interfaces/mpi/core/quick_messages.hpp"', '#include "interfaces/mpi/by_hand.hpp"',
             '#include "interfaces/mpi/openmpi/entry.hpp"', '#include "interfaces/mpi/values.hpp"', "",
             "namespace coracle::mpi::openmpi {", 'extern "C" {', ""]
    for function in functions:
        if function.mark != "raw":
            lines += [*definition(function), ""]
    return "\n".join([*lines, '}  // extern "C"', "}  // namespace coracle::mpi::openmpi", ""])


def collective_names_text(functions):
    """A header with the names that are noted where a program calls them. They lie in the core's module, so that one rank
    can tell another where."""
    lines = ["#pragma once", "", "namespace coracle::mpi {", "", "struct CollectiveNames {"]
    for function in functions:
        if function.is_collective:
            lines.append(f'  char {function.name}[{len(function.name) + 1}] = "{function.name}";')
    return "\n".join([*lines, "};", "extern const CollectiveNames kCollectiveNames;", "", "}  // namespace coracle::mpi", ""])


def declarations_text(functions):
    """A header with all C entry points but the raw ones."""
    lines = ["#pragma once", "", '#include "interfaces/mpi/openmpi/abi.hpp"', "", "namespace coracle::mpi::openmpi {",
             'extern "C" {', ""]
    for function in functions:
        if function.mark != "raw":
            for name in (function.p_name, function.name):
                lines.append(f"int {name}({c_types.c_parameters(function)});")
    return "\n".join([*lines, "", '}  // extern "C"', "}  // namespace coracle::mpi::openmpi", ""])


def core_text(functions, mark, space):
    """A header with what the entry points call."""
    classes = [f"class {name};" for name in table.HANDLES.values() if name not in {"Window", "File"}]
    lines = ["// What the entry points call, by the table of functions: each throws MpiError.", "#pragma once", "",
             "#include <span>", "#include <string>", "", '#include "interfaces/mpi/core/collective_forms.hpp"',
             '#include "interfaces/mpi/core/numbers.hpp"',
             '#include "interfaces/mpi/core/status.hpp"']
    if mark == "hand":
        lines.append('#include "interfaces/mpi/openmpi/abi.hpp"')
    lines += ["", "namespace coracle::mpi {", "", *classes, "", "}  // namespace coracle::mpi", "", f"namespace {space} {{"]
    section = None
    for function in functions:
        if function.mark != mark or (function.base and function.form != "block"):  # declared with another
            continue
        if function.section != section:
            section = function.section
            lines += ["", f"// {section.replace('_', ' ')}"]
        lines.append(c_types.core_declaration(function))
    return "\n".join([*lines, "", f"}}  // namespace {space}", ""])
