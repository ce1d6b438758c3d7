"""Reads the tables in ../tables: the functions with their parameters, the constants, the exported objects."""

import dataclasses
import pathlib
import re

HANDLES = {
    "comm": "Comm", "group": "Group", "datatype": "Datatype", "op": "Op", "info": "Info", "errhandler": "ErrorHandler",
    "request": "Request", "message": "Message", "win": "Window", "file": "File",
}
ENUMERATIONS = ("combiner", "comparison", "topology", "order", "distribution", "commtype", "typeclass", "threadlevel")
WIDE = ("aint", "offset", "bigcount", "oldaint")
KINDS = {
    *HANDLES, *ENUMERATIONS, *WIDE, "buffer", "pointer", "int", "entries", "index", "count", "fitting", "logical", "rank", "tag",
    "keyval", "code", "class", "weights", "string", "length", "status", "function", "attribute", "argv",
}
COLLECTIVE_SECTIONS = {"collectives", "nonblocking_collectives", "neighbours"}
MARKS = ("core", "hand", "raw", "refused", "same")
PARAMETER = re.compile(
    r"(?P<const>const )?(?:(?P<direction>in|out|inout) )?(?P<kind>\w+) (?P<name>\w+)(?:\[(?P<length>.*)\])?"
    r"(?: (?P<condition>at|unless|if|first) (?P<of>\w+)(?: in place)?)?")


class TableError(Exception):
    """What is wrong, with the file's name and line."""


@dataclasses.dataclass
class Parameter:
    name: str
    kind: str
    direction: str = "in"
    const: bool = False
    length: str | None = None
    condition: str | None = None  # at, unless, if, first
    of: str | None = None

    @property
    def is_array(self):
        return self.length is not None and self.kind != "string"


@dataclasses.dataclass
class Function:
    name: str  # MPI_Send
    mark: str
    section: str
    parameters: list
    word: str = ""  # what is not there, of a refused one; or the function that this is another name of
    early: bool = False
    local: bool = False
    todo: bool = False
    form: str = ""  # of a collective that has all three: block, begin or prepare
    base: str = ""  # the core's function, where that is not called as this one

    @property
    def core(self):
        """What of the core is called."""
        name = self.base or self.name.split("_", 1)[1].lower()
        return f"{name}.{self.form}" if self.form else name

    @property
    def p_name(self):
        return "P" + self.name

    @property
    def is_collective(self):
        """Whether members of a communicator must call it alike: then the place of the call is noted."""
        makes_or_ends_comm = any(p.kind == "comm" and p.direction != "in" for p in self.parameters)
        return self.mark == "core" and (self.section in COLLECTIVE_SECTIONS or makes_or_ends_comm)

    def first(self, kind):
        return next((p for p in self.parameters if p.kind == kind and p.direction == "in" and not p.is_array), None)


def split_outside(text, separator):
    """Splits at separators that lie in no parentheses or brackets."""
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if letter == separator and depth == 0:
            parts.append(text[start:place])
            start = place + 1
    return [part.strip() for part in [*parts, text[start:]] if part.strip()]


def parse_parameter(text, where):
    match = PARAMETER.fullmatch(text)
    if not match or match["kind"] not in KINDS:
        raise TableError(f'{where}: "{text}" is no parameter: write [const] [in|out|inout] KIND NAME')
    return Parameter(match["name"], match["kind"], match["direction"] or "in", bool(match["const"]), match["length"],
                     match["condition"], match["of"])


def parse_entry(text, section, where):
    match = re.fullmatch(r"(\w+)((?: \w+)*?)( early| local)? (MPIX?_\w+)\((.*)\)", text)
    if not match and (match := re.fullmatch(r"(same)( MPI_\w+)( early)? (MPI_\w+)\((.*)\)", text)) is None:
        raise TableError(f'{where}: "{text}" is no entry: write MARK NAME(PARAMETER, ...)')
    mark, word, when, name, parameters = match.groups()
    if mark not in MARKS or (mark in {"refused", "same"}) != bool(word.strip()):
        raise TableError(f"{where}: {name}: the mark is one of {', '.join(MARKS)}; refused and same say of what")
    entry = Function(name, mark, section, [parse_parameter(p, f"{where}: {name}") for p in split_outside(parameters, ",")],
                     word.strip(), when == " early", when == " local")
    known = {p.name for p in entry.parameters}
    for parameter in entry.parameters:
        if parameter.of and parameter.of not in known:
            raise TableError(f"{where}: {name}: {parameter.name} depends on {parameter.of}, which is no parameter")
    return entry


def joined_lines(path):
    """(line number, text) of entries; those that go on are joined, comments left out."""
    entries = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("#") or not line.strip():
            continue
        if line.startswith(" "):
            entries[-1] = (entries[-1][0], f"{entries[-1][1]} {line.strip()}")
        else:
            entries.append((number, line.strip()))
    return entries


def note_forms(functions):
    """Finds the collectives that have a blocking, a nonblocking and a persistent form: in the core they are one."""
    for entry in [f for f in functions.values() if f.mark == "core" and f.section in COLLECTIVE_SECTIONS]:
        stem = entry.name.removeprefix("MPI_")
        forms = {"block": entry.name, "begin": f"MPI_I{stem[0].lower()}{stem[1:]}", "prepare": f"MPIX_{stem}_init"}
        if all(name in functions for name in forms.values()):
            for form, name in forms.items():
                functions[name].form, functions[name].base = form, stem.lower()


def note_wide_twins(functions):
    """MPI_X_x has wider counts than MPI_X; the core's are all wide."""
    for entry in functions.values():
        stem = entry.name.removesuffix("_x")
        if stem != entry.name and entry.mark == "core" and stem in functions:
            entry.base = functions[stem].core


def read_functions(tables):
    """The functions in the table's order."""
    path = tables / "functions"
    todo = {text for _, text in joined_lines(tables / "todo")}
    functions, section = {}, None
    for number, text in joined_lines(path):
        if text.startswith("section "):
            section = text.split()[1]
            continue
        entry = parse_entry(text, section, f"{path.name}:{number}")
        if entry.name in functions:
            raise TableError(f"{path.name}:{number}: {entry.name} is there twice")
        entry.todo = entry.name in todo
        functions[entry.name] = entry
    for entry in functions.values():
        if entry.mark == "same" and (entry.word not in functions or functions[entry.word].section != entry.section):
            raise TableError(f"{entry.name} is another name of {entry.word}, which is not in the same section")
    note_forms(functions)
    note_wide_twins(functions)
    unknown = todo - functions.keys()
    if unknown:
        raise TableError(f"todo: there is no function {', '.join(sorted(unknown))}")
    return list(functions.values())


def read_constants(tables):
    """{family: [(name, the core's value, the ABI's value or None)]}."""
    families = {}
    for _, text in joined_lines(tables / "constants"):
        family, name, core, abi = text.split()[:4]
        families.setdefault(family, []).append((name, int(core), None if abi == "-" else int(abi)))
    return families


CONSTANT_LANGUAGES = {"both": ("c", "fortran"), "c": ("c",), "fortran": ("fortran",), "room": ("c", "fortran")}


def read_header_constants(tables, language):
    """[(name, value)] of all integer constants that a header of C ("c") or Fortran ("fortran") has."""
    path = tables / "openmpi_constants"
    found = {name: abi for family in read_constants(tables).values() for name, _, abi in family if abi is not None}
    for number, text in joined_lines(path):
        word, name, value = text.split()
        if word not in CONSTANT_LANGUAGES:
            raise TableError(f"{path.name}:{number}: write one of {', '.join(CONSTANT_LANGUAGES)}, then NAME VALUE")
        if language in CONSTANT_LANGUAGES[word]:
            found[name] = int(value) - (word == "room" and language == "fortran")
    return list(found.items())


def read_substitutes(tables):
    """{class that the ABI has not: class that it gives instead}."""
    rows = [text.split() for _, text in joined_lines(tables / "constants")]
    return {row[1]: row[4] for row in rows if len(row) > 4}


@dataclasses.dataclass
class ExportedObject:
    kind: str
    symbol: str
    bytes: int
    number: int  # in Fortran
    names: list
    has_pointer: bool


def read_objects(tables):
    """(objects of predefined handles, [(symbol, bytes)] of other data)."""
    sizes, objects, data = {}, [], []
    for _, text in joined_lines(tables / "openmpi_objects"):
        kind, *words = text.split()
        if kind == "size":
            sizes[words[0]] = int(words[1])
        elif kind == "data":
            data.append((words[0], int(words[1])))
        else:
            symbol, number, *names = words
            objects.append(ExportedObject(kind, symbol.lstrip("+"), sizes[kind], int(number), names,
                                          symbol.startswith("+")))
    return objects, data


def tables_folder():
    return pathlib.Path(__file__).resolve().parent.parent / "tables"
