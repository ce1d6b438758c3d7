"""The live coroutines of all loops in the memory that gdb looks at. Nothing is called in the program."""

import struct
import time

import gdb

import coracle_images
import coracle_memory as memory

MANY = 1_000_000  # of what is linked in a row: beyond that the links are taken to be damaged


class Coroutine:
    """A coroutine frame. `address`: std::coroutine_handle::address()."""

    def __init__(self, layout, promise):
        part = layout.promise
        self.promise = promise
        self.address = promise - part.offset_in_frame
        self.resume = memory.pointer(self.address, "a coroutine's frame")
        self.parent = memory.pointer(promise + part.parent, "who awaits a coroutine")
        self.loop = memory.pointer(promise + part.loop, "a coroutine's loop")
        self.scope = memory.pointer(promise + part.scope, "a coroutine's scope")
        self.nested = memory.number(promise + part.mode, 1, "how a coroutine was started") == 0
        # Of one that nobody awaits it was never set.
        self.awaited_at = memory.Place(promise + part.awaited_at) if self.parent else None


def chain_of(layout, promise, problems):
    """The coroutine and those that await it, the innermost first."""
    chain = []
    seen = set()
    while promise and len(chain) < MANY:
        if promise in seen:
            problems.append(f"the coroutine at {promise:#x} awaits itself: its frame is damaged")
            break
        seen.add(promise)
        try:
            chain.append(Coroutine(layout, promise))
        except memory.Unreadable as problem:
            problems.append(str(problem))
            break
        promise = chain[-1].parent
    return chain


class Task:
    """Coroutines that await each other: what the innermost awaits, runs or is ready for, and who awaits it."""

    def __init__(self, rank, state, depth, chain):
        self.rank, self.state, self.depth, self.chain = rank, state, depth, chain
        self.number = 0
        self.where = None  # of the innermost: where it waits
        self.is_partial = False
        self.what, self.peer, self.since_ns, self.waiter = "", -1, 0, 0


class Rank:
    def __init__(self, inferior, layout, registration, thread):
        part = layout.registration
        self.inferior, self.layout, self.thread = inferior, layout, thread
        self.registration = registration
        self.number = memory.number(registration + part.rank, 4, "a rank's number", signed=True)
        self.loop = memory.pointer(registration + part.loop, "a rank's loop")
        block = memory.pointer(registration + part.block, "a rank's block")
        self.pid = memory.number(block + layout.block.pid, 4, "a rank's process") if block else inferior.pid
        self.now_ns = self.of_loop("now_ns")
        doorbell = self.of_loop("doorbell")
        self.asleep = memory.number(doorbell, 4, "a doorbell") != 0
        self.running = self.of_loop("running")
        self.root_scope = self.of_loop("root_scope")
        self.is_live = not memory.is_core()
        self.problems = []
        self.tasks = []

    def of_loop(self, name):
        return memory.pointer(self.loop + getattr(self.layout.loop, name), "a loop")

    def linked(self, head, what):
        """Addresses of the links of a list, in their order."""
        seen = set()
        link = head
        while True:
            try:
                following = memory.pointer(link + self.layout.link.next, what)
            except memory.Unreadable as problem:
                self.problems.append(f"{problem}: {what} end here")
                return
            if following == head:
                return
            if following in seen or len(seen) == MANY:
                self.problems.append(f"{what} lead back to {following:#x}: they are damaged, and end here")
                return
            seen.add(following)
            yield following
            link = following

    def walk(self):
        """Fills in the tasks: the running one, those that are ready, and those that wait, scope by scope."""
        if self.running:
            words = stack_of(self)
            innermost = self.innermost_running(words) + self.layout.promise.offset_in_frame
            chain = chain_of(self.layout, innermost, self.problems)
            if chain:
                self.tasks.append(Task(self, "running", 0, chain))
                self.tasks[-1].is_partial = not words
        for handle in self.ready():
            chain = chain_of(self.layout, handle + self.layout.promise.offset_in_frame, self.problems)
            if chain:
                self.tasks.append(Task(self, "ready", 0, chain))
        self.walk_scope(self.root_scope, 0, set())

    def ready(self):
        head, tail, capacity = (self.of_loop("ready_" + name) for name in ("head", "tail", "capacity"))
        slots = self.of_loop("ready_slots")
        if tail - head > min(capacity, MANY):
            self.problems.append("the queue of ready coroutines is damaged")
            return
        for i in range(head, tail):
            try:
                yield memory.pointer(slots + i % capacity * 8, "the queue of ready coroutines")
            except memory.Unreadable as problem:
                self.problems.append(str(problem))
                return

    def walk_scope(self, scope, depth, seen):
        """Scopes whose end a wait of this one awaits come below it."""
        if scope in seen or depth > 1000:
            self.problems.append(f"the scope at {scope:#x} lies in itself: it is damaged")
            return
        seen.add(scope)
        part = self.layout.scope
        scopes = [link - part.link for link in self.linked(scope + part.scopes, "scopes")]
        by_join = {}
        for child in scopes:
            try:
                by_join.setdefault(memory.pointer(child + part.join, "a scope"), []).append(child)
            except memory.Unreadable as problem:
                self.problems.append(str(problem))
        for link in self.linked(scope + part.waiters, "waits"):
            waiter = link - self.layout.waiter.link
            try:
                self.tasks.append(self.waiting(waiter, depth))
            except memory.Unreadable as problem:
                self.problems.append(f"a wait: {problem}")
            for child in by_join.pop(waiter, []):
                self.walk_scope(child, depth + 1, seen)
        for rest in by_join.values():
            for child in rest:
                self.walk_scope(child, depth + 1, seen)

    def waiting(self, waiter, depth):
        part = self.layout.waiter
        promise = memory.pointer(waiter + part.coroutine, "a wait's coroutine")
        task = Task(self, "waiting", depth, chain_of(self.layout, promise, self.problems))
        task.waiter = waiter
        task.what = memory.text(memory.pointer(waiter + part.what, "a wait"), "what is awaited")
        task.peer = memory.number(waiter + part.peer, 4, "a wait", signed=True)
        task.since_ns = memory.number(waiter + part.since_ns, 8, "a wait")
        task.where = memory.Place(waiter + part.where)
        return task

    def innermost_running(self, words):
        """As runtime/job/running_coroutine.cpp: a coroutine that another has started, and that has not suspended since, is
        noted nowhere, but whoever has started it has its address on the stack or in a register."""
        offset = self.layout.promise.offset_in_frame
        nested = {}
        for word in words:
            for handle in (word, word - offset):
                if handle % 16 != 0 or handle < 4096 or handle in nested:
                    continue
                try:
                    found = Coroutine(self.layout, handle + offset)
                except (memory.Unreadable, gdb.error):
                    continue
                if found.loop == self.loop and found.nested and found.awaited_at and found.awaited_at.line and found.resume:
                    nested[handle] = found.parent - offset
        parents = set(nested.values())
        for handle in nested:
            if handle in parents:
                continue
            outer = handle
            for _ in range(len(nested)):
                outer = nested.get(outer, 0)
                if outer == self.running:
                    return handle
        return self.running


def interrupted_frame(thread):
    """The innermost frame, or what a signal has interrupted: the report of a crash has a stack of its own."""
    thread.switch()
    newest = frame = gdb.newest_frame()
    for _ in range(64):
        if frame is None:
            return newest
        if frame.type() == gdb.SIGTRAMP_FRAME:
            return frame.older() or newest
        frame = frame.older()
    return newest


def stack_of(rank):
    """The words of the stack between the loop and what runs, and those in registers; nothing where no thread is known."""
    thread = next((each for each in rank.inferior.threads() if each.ptid[1] == rank.thread), None)
    if thread is None:
        return set()
    before = gdb.selected_thread()
    try:
        frame = interrupted_frame(thread)
        names = ["rbx", "rbp", "r12", "r13", "r14", "r15", "rax", "rdi", "rsi"]
        if "aarch64" in frame.architecture().name():
            names = [f"x{i}" for i in range(30)]
        words = {int(frame.read_register(name)) & (1 << 64) - 1 for name in names}
        begin = int(frame.read_register("sp")) & (1 << 64) - 1
        limit = rank.of_loop("stack_limit") + rank.layout.loop.stack_bytes_max
        size = min(limit - begin, 8 << 20) if limit > begin else 1 << 16
        for at in range(begin // 4096 * 4096, begin + size, 4096):
            try:
                words.update(struct.unpack("<512Q", memory.read(at, 4096)))
            except memory.Unreadable:
                pass
        return words
    except (gdb.error, ValueError):
        return set()
    finally:
        if before is not None:
            before.switch()


def ranks_of(inferior, problems):
    """Those whose loops lie in the memory of `inferior`, which is the selected one."""
    found = []
    for image in coracle_images.images():
        layout = image.layout
        try:
            state = memory.pointer(layout.diagnostics_pointer, "Diagnostics")
            thread = memory.pointer(state + layout.diagnostics.threads, "Diagnostics") if state else 0
            for _ in range(MANY):
                if not thread:
                    break
                found += ranks_of_thread(inferior, layout, thread, problems)
                thread = memory.pointer(thread + layout.thread.next, "a thread with ranks")
        except memory.Unreadable as problem:
            problems.append(f"{image.path} at {image.begin:#x}: {problem}")
    return found


def ranks_of_thread(inferior, layout, thread, problems):
    found = []
    seen = set()
    number = memory.number(thread + layout.thread.id, 4, "a thread's number")
    running = memory.pointer(thread + layout.thread.running, "a thread with ranks")
    registration = memory.pointer(thread + layout.thread.first, "a thread with ranks")
    while registration and registration not in seen:
        seen.add(registration)
        try:
            rank = Rank(inferior, layout, registration, number)
            if running not in (0, registration):
                rank.running = 0  # another rank of this thread has its turn
            rank.walk()
            found.append(rank)
        except memory.Unreadable as problem:
            problems.append(str(problem))
        registration = memory.pointer(registration + layout.registration.next, "a rank's registration")
    return found


class Inside:
    """`with Inside(inferior):` memory and symbols are that one's; afterwards all is selected again that was."""

    def __init__(self, inferior):
        self.inferior = inferior

    def __enter__(self):
        self.before, self.thread = gdb.selected_inferior().num, gdb.selected_thread()
        if self.inferior.num != self.before:
            self.inferior.threads()[0].switch()  # the command `inferior` would print where it is

    def __exit__(self, *_):
        if self.thread is not None:
            self.thread.switch()
        elif self.inferior.num != self.before:
            gdb.execute(f"inferior {self.before}", to_string=True)


def all_ranks():
    """Of all inferiors, by number, and what went wrong. Inferiors that share their memory show the same ranks: they count once."""
    found, problems = {}, []
    for inferior in gdb.inferiors():
        if inferior.pid == 0:
            continue
        with Inside(inferior):
            for rank in ranks_of(inferior, problems):
                key = (rank.number, rank.pid, rank.loop)
                # The inferior that is the rank knows its registers, too.
                if key not in found or rank.pid == inferior.pid:
                    found[key] = rank
    ranks = [found[key] for key in sorted(found)]
    tasks = [task for rank in ranks for task in rank.tasks]
    for task_number, task in enumerate(tasks, 1):
        task.number = task_number
    return ranks, problems


def now_ns(rank, ranks):
    """The rank's time, and whether it is exact: a sleeping loop has not looked at its clock, and a core file has none."""
    if rank.is_live:
        kind = memory.pointer(rank.of_loop("clock"), "a clock")
        coracle_images.know_symbols(kind)
        if "RealClock" in coracle_images.symbol_at(kind):
            return time.monotonic_ns(), True
    return max(each.now_ns for each in ranks), False


def short_function(name):
    """"solve" of "coracle::internals::Task<> {anonymous}::solve(Rank&, double)"."""
    for scope in ("{anonymous}::", "(anonymous namespace)::", "coracle::internals::"):
        name = name.replace(scope, "")
    depth = 0
    for at, letter in enumerate(name):
        depth += {"<": 1, ">": -1}.get(letter, 0)
        if letter == "(" and depth == 0 and at > 0 and not name[:at].endswith("operator"):
            name = name[:at]
            break
    depth = 0
    for at in range(len(name) - 1, -1, -1):
        depth += {">": 1, "<": -1}.get(name[at], 0)
        if name[at] == " " and depth == 0:
            return name[at + 1:]
    return name


def name_of_process(rank):
    return f"rank {rank.number} (process {rank.pid}, thread {rank.thread})"
