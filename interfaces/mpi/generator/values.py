"""Writes the translation of constants, and the exported objects with what they stand for."""

import table


def pairs(name, values):
    rows = ", ".join(f"{{{abi}, {core}}}" for _, core, abi in values if abi is not None)
    return f"inline constexpr Pair {name}[] = {{{rows}}};"


def enumeration_text(family, values):
    constants = f"k{family.capitalize()}Values"
    names = ", ".join(name for name, _, abi in values if abi is not None and name != "MPI_UNDEFINED")
    return [pairs(constants, values),
            f"inline int {family}_from(int value, const char* name) {{",
            f'  return value_from({constants}, value, name, "{names}");', "}",
            f"inline int {family}_to(int value) {{ return value_to({constants}, value); }}"]


def class_tables(values, substitutes):
    """Arrays by class, both ways; what the ABI has not is its substitute, or MPI_ERR_OTHER."""
    abi_by_name = {name: abi for name, _, abi in values}
    known = [(core, abi) for _, core, abi in values if abi is not None]
    given = {core: abi_by_name[name if abi is not None else substitutes.get(name, "MPI_ERR_OTHER")]
             for name, core, abi in values}
    to_abi = [given.get(core, abi_by_name["MPI_ERR_OTHER"]) for core in range(max(given) + 1)]
    from_abi = [{abi: core for core, abi in known}.get(abi, -1) for abi in range(max(abi for _, abi in known) + 1)]
    return ["inline constexpr std::int8_t kClassTo[] = {" + ", ".join(map(str, to_abi)) + "};",
            "/// -1: no class.",
            "inline constexpr std::int8_t kClassFrom[] = {" + ", ".join(map(str, from_abi)) + "};"]


def tool_errors_text(header_constants):
    """MPI_T_ERR_INVALID_INDEX as kToolErrInvalidIndex."""
    return [f"inline constexpr int kTool{name[6:].title().replace('_', '')} = {value};"
            for name, value in header_constants if name.startswith("MPI_T_ERR_")]


def constants_text(constants, substitutes, header_constants):
    lines = ["// Constants of Open MPI 4.1 and the core's, both ways, by the table of constants.", "#pragma once", "",
             "#include <cstdint>", "", '#include "interfaces/mpi/openmpi/translate.hpp"', "",
             "namespace coracle::mpi::openmpi {", ""]
    for family, values in constants.items():
        if family in table.ENUMERATIONS:
            lines += [*enumeration_text(family, values), ""]
    lines += [pairs("kKeyvalValues", constants["keyval"]), "", *class_tables(constants["class"], substitutes), "",
              *tool_errors_text(header_constants), ""]
    return "\n".join([*lines, "}  // namespace coracle::mpi::openmpi", ""])


def objects_text(objects, data):
    """Definitions of all exported data, and the list of what each is."""
    lines = ['#include "interfaces/mpi/openmpi/objects.hpp"', "", "namespace coracle::mpi::openmpi {", 'extern "C" {', ""]
    for item in objects:
        lines.append(f"Exported<{table.HANDLES[item.kind]}, {item.bytes}> {item.symbol};")
        if item.has_pointer:
            lines.append(f"void* {item.symbol}_addr = &{item.symbol};")
    lines += [f"alignas({8 if size >= 8 else size}) char {symbol}[{size}];" for symbol, size in data]
    lines += ["", '}  // extern "C"', "", "std::span<const Predefined> predefined_handles() noexcept {",
              "  // Not constant data: each address is the executable's copy, where it has one.",
              "  static const Predefined all[] = {"]
    lines += [f'      {{HandleKind::{item.kind}, &{item.symbol}.word, {item.number}, "{item.names[0]}"}},' for item in objects]
    return "\n".join([*lines, "  };", "  return all;", "}", "", "}  // namespace coracle::mpi::openmpi", ""])


def object_declarations_text(objects):
    lines = ["// The predefined handles' objects that the library exports.", "#pragma once", "",
             '#include "interfaces/mpi/openmpi/abi.hpp"', "", "namespace coracle::mpi::openmpi {", 'extern "C" {', ""]
    lines += [f"extern Exported<{table.HANDLES[item.kind]}, {item.bytes}> {item.symbol};" for item in objects]
    return "\n".join([*lines, "", '}  // extern "C"', "}  // namespace coracle::mpi::openmpi", ""])
