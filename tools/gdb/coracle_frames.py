"""What a suspended coroutine's frame holds, by the type that the compiler gave it.

g++ and clang describe it differently. g++ passes a "frame_ptr" to the function that resumes the coroutine, and calls a
variable of the frame "steps_1_2" and a parameter "block". clang has a variable "__coro_frame" of the frame's type there; its
fields have the variables' own names without optimisation, and names such as "__int_32_2" with it."""

import re

import gdb

import coracle_images

BY_GCC = re.compile(r"(?P<name>.*?)_(?P<block>\d+)_(?P<order>\d+)$")
HIDDEN = re.compile(r"(_Coro_|Is_\d|Fs_\d|__resume_fn|__destroy_fn|__promise|__coro_index|__coro_frame$)")
# What is awaited, and objects without a name that live across an await.
TEMPORARY = re.compile(r"(Aw\d+|Yd\d+|D\.?\d+|T\d+)_|(struct|class|union)_.*_\d+$")
UNNAMED = re.compile(r"(__\w+|PointerType)_\d+$")


class Variable:
    def __init__(self, name, value, line, is_parameter):
        self.name, self.value, self.line, self.is_parameter = name, value, line, is_parameter

    def text(self, suspended_line):
        # What is declared behind the place of the await does not live there, or no longer.
        if not self.is_parameter and self.line and suspended_line and self.line > suspended_line:
            return f"<declared in line {self.line}>"
        try:
            return self.value.format_string(max_elements=20, max_depth=3)
        except (gdb.error, UnicodeError) as problem:
            return f"<can't be shown: {problem}>"


def function_block(address):
    """The function's outermost block, or None without debugging information."""
    try:
        block = gdb.block_for_pc(address)
    except RuntimeError:
        return None
    while block is not None and block.function is None:
        block = block.superblock
    return block


def symbols_of(block):
    """Name to symbols, in the order of their lines, of a function and the blocks in it."""
    found = {}
    blocks = [block]
    table = block.function.symtab.linetable() if block.function.symtab else []
    for entry in table:
        if not block.start <= entry.pc < block.end:
            continue
        inner = gdb.block_for_pc(entry.pc)
        while inner is not None and inner.function is None and inner not in blocks:
            blocks.append(inner)
            inner = inner.superblock
    for each in blocks:
        for symbol in each:
            known = found.setdefault(symbol.name, [])
            if all(symbol.line != other.line for other in known):
                known.append(symbol)
    for known in found.values():
        known.sort(key=lambda symbol: symbol.line)
    return found


def frame_type(block):
    for symbol in block:
        if symbol.name in ("frame_ptr", "__coro_frame"):
            kind = symbol.type.strip_typedefs()
            return kind.target().strip_typedefs() if kind.code == gdb.TYPE_CODE_PTR else kind
    return None


class FrameView:
    """The variables of one coroutine; `reason` says why there are none."""

    def __init__(self, coroutine):
        self.variables, self.unnamed = [], []
        self.name, self.reason = "", ""
        self.by_gcc = False
        resume = coroutine.resume
        if resume == 0:
            self.reason = "it has ended"
            return
        coracle_images.know_symbols(resume)
        symbol = coracle_images.symbol_at(resume)
        block = function_block(resume)
        self.name = name_of_resume(symbol, block)
        if block is None:
            self.reason = "no debugging information here: compile with -g to see its variables"
            return
        kind = frame_type(block)
        if kind is None:
            self.reason = "the debugging information does not describe its frame: compile with -g, without -g1"
            return
        self.fill(block, gdb.Value(coroutine.address).cast(kind.pointer()).dereference(), kind)

    def fill(self, block, frame, kind):
        symbols = symbols_of(block)
        self.by_gcc = any(field.name == "_Coro_resume_fn" for field in kind.fields())
        for field in kind.fields():
            name = field.name or ""
            if HIDDEN.match(name) or (TEMPORARY.match(name) and name not in symbols):
                continue
            if UNNAMED.match(name):
                self.unnamed.append((name, frame[field]))
            else:
                self.add(name, frame[field], symbols)
        self.variables.sort(key=lambda variable: (not variable.is_parameter, variable.line))

    def add(self, name, value, symbols):
        of_gcc = BY_GCC.match(name) if self.by_gcc else None
        plain = of_gcc.group("name") if of_gcc else name
        known = symbols.get(plain, [])
        earlier = sum(variable.name == plain for variable in self.variables)
        symbol = known[min(earlier, len(known) - 1)] if known else None
        is_parameter = not of_gcc if self.by_gcc else bool(symbol and symbol.is_argument)
        self.variables.append(Variable(plain, value, symbol.line if symbol else 0, is_parameter))

    def lines(self, suspended_line):
        """What is to be printed below the coroutine's name."""
        if self.reason:
            return [self.reason]
        shown = []
        for variable in self.variables:
            what = "parameter " if variable.is_parameter else ""
            shown.append(f"{what}{variable.name} = {variable.text(suspended_line)}")
        for name, value in self.unnamed:
            shown.append(f"{name} = {Variable(name, value, 0, False).text(0)}")
        if self.unnamed:
            shown.append("(an optimised build: names as __int_32_2 are the compiler's, and what it keeps elsewhere is not there)")
        return shown or ["no variables are in its frame" + ("" if self.by_gcc else ": an optimised build may keep none")]


def name_of_resume(symbol, block):
    """"solve(Rank&, double)" of "solve(solve(Rank&, double)::_Z5solve...Frame*) [clone .actor]"."""
    text = symbol.partition(" [clone")[0] or (block.function.name if block else "")
    end = text.rfind("::_Z")
    if end >= 0 and "Frame*)" in text[end:]:
        at = text.find("(", 1)
        while 0 <= at < end:
            if text[at + 1:].startswith(text[:at]):
                return text[at + 1:end]
            at = text.find("(", at + 1)
    return re.sub(r"\.(actor|resume|destroy|cleanup)$", "", text)
