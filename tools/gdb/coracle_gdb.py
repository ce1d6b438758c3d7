"""gdb commands that show the coroutines of programs of Coracle, in running processes and in core files.

    gdb -p PID -x coracle_gdb.py -ex 'coracle tasks'
    gdb PROGRAM CORE -x coracle_gdb.py -ex 'coracle tasks'

coracle ranks            the ranks in this memory: under pvas all of the job's on this node, attached or not
coracle tasks [RANK]     live coroutines: what each awaits, from whom, since when, and who awaits it, scope by scope
coracle task NUMBER      the coroutines of one task, as `coracle tasks` counts them, with their variables
coracle frame ADDRESS    the variables of the coroutine whose frame lies at ADDRESS
coracle attach           at a launcher: attaches to its ranks, too
coracle symbols          loads the symbols of a rank of pvas, whose program gdb does not find by itself

Nothing is called in the program. What can't be read, because memory is damaged or is not in the core file, is said."""

import os
import sys

import gdb

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

# pylint: disable=wrong-import-position
import coracle_frames as frames
import coracle_images as images
import coracle_memory as memory
import coracle_tasks as tasks


def plural(count, what):
    return f"{count} {what}{'' if count == 1 else 's'}"


def ranks_or_error():
    if all(inferior.pid == 0 for inferior in gdb.inferiors()):
        raise gdb.GdbError("no process and no core file: attach to one first (gdb -p PID, or gdb PROGRAM CORE)")
    ranks, problems = tasks.all_ranks()
    for problem in problems:
        print(f"note: {problem}")
    if not ranks:
        raise gdb.GdbError("no rank of Coracle lives in this memory: it is of another program, or of another version of "
                           "Coracle, or coracle::run has not been called or has returned")
    return ranks


def state_of(rank):
    running = any(task.state == "running" for task in rank.tasks)
    ready = sum(task.state == "ready" for task in rank.tasks)
    waiting = sum(task.state == "waiting" for task in rank.tasks)
    words = ["runs a coroutine" if running else "asleep" if rank.asleep else "awake, runs no coroutine"]
    if ready:
        words.append(f"{ready} ready")
    words.append(plural(waiting, "wait"))
    return ", ".join(words)


def age(task, now):
    at, exact = now
    waited_ms = max(at - task.since_ns, 0) // 1_000_000
    return f"for {'' if exact else 'at least '}{waited_ms // 1000}.{waited_ms % 1000:03} s"


def headline(task, now):
    if task.state == "waiting":
        peer = f" from rank {task.peer}" if task.peer >= 0 else ""
        return f"{task.what}{peer}, {age(task, now)}, at {task.where}{in_function(task.where)}"
    if task.state == "ready":
        return "ready to run"
    return "runs now" + (", and what it awaits: attach to its process to see that" if task.is_partial else "")


def in_function(place):
    return f" in {tasks.short_function(place.function)}" if place.function else ""


def end_of_chain(task):
    outermost = task.chain[-1] if task.chain else None
    before = task.chain[-2].awaited_at if len(task.chain) > 1 else None
    if before is not None and before.file.endswith("event_loop.cpp"):
        return "main task"
    if outermost is None or outermost.parent:
        return "..."
    return "a task beside the main task" if outermost.scope == task.rank.root_scope else "a task spawned in a scope"


def is_of_the_loop(place):
    return place is not None and place.file.endswith("event_loop.cpp")


def callers(task):
    """Lines "suspended.cpp:40 in solve": where each coroutine is awaited, and in which."""
    places = [each.awaited_at for each in task.chain if each.awaited_at and not is_of_the_loop(each.awaited_at)]
    return [f"{place}{in_function(place)}" for place in places] + [end_of_chain(task)]


def print_task(task, now):
    indent = "  " * task.depth
    print(f"{indent}{task.number:4}  {headline(task, now)}")
    for caller in callers(task):
        print(f"{indent}      <- {caller}")


def print_problems(rank):
    for problem in rank.problems:
        print(f"      note: {problem}")


def suspended_at(task, index):
    """Where the coroutine of that index is suspended."""
    return task.where if index == 0 else task.chain[index - 1].awaited_at


def print_frame(coroutine, index, where):
    view = frames.FrameView(coroutine)
    name = view.name or (where.function if where else "") or "an unknown coroutine"
    place = f", suspended at {where}" if where and where.line else ""
    print(f"#{index:<3} {name}{place}, frame {coroutine.address:#x}")
    for line in view.lines(where.line if where else 0):
        print(f"       {line}")


class Coracle(gdb.Command):
    __doc__ = __doc__

    def __init__(self):
        super().__init__("coracle", gdb.COMMAND_STATUS, gdb.COMPLETE_NONE, True)


class Command(gdb.Command):
    def __init__(self):
        super().__init__(f"coracle {self.word}", gdb.COMMAND_STATUS)

    def invoke(self, argument, _):
        try:
            self.run(gdb.string_to_argv(argument))
        except memory.Unreadable as problem:
            raise gdb.GdbError(str(problem)) from None


class Ranks(Command):
    """coracle ranks: the ranks whose loops lie in this memory, and what each does."""

    word = "ranks"

    def run(self, _):
        for rank in ranks_or_error():
            print(f"{tasks.name_of_process(rank)}: {state_of(rank)}")
            print_problems(rank)


class Tasks(Command):
    """coracle tasks [RANK]: live coroutines, scope by scope, and who awaits them."""

    word = "tasks"

    def run(self, words):
        if len(words) > 1 or (words and not words[0].isdigit()):
            raise gdb.GdbError("usage: coracle tasks [RANK]")
        ranks = ranks_or_error()
        wanted = [rank for rank in ranks if not words or rank.number == int(words[0])]
        if not wanted:
            raise gdb.GdbError(f"there is no rank {words[0]} in this memory: `coracle ranks` lists those that are")
        for rank in wanted:
            print(f"{tasks.name_of_process(rank)}: {state_of(rank)}")
            with tasks.Inside(rank.inferior):
                now = tasks.now_ns(rank, ranks)
            for task in rank.tasks:
                print_task(task, now)
            print_problems(rank)


class OneTask(Command):
    """coracle task NUMBER: the coroutines of one task with their variables; `coracle tasks` counts them."""

    word = "task"

    def run(self, words):
        if len(words) != 1 or not words[0].isdigit():
            raise gdb.GdbError("usage: coracle task NUMBER")
        ranks = ranks_or_error()
        task = next((task for rank in ranks for task in rank.tasks if task.number == int(words[0])), None)
        if task is None:
            raise gdb.GdbError(f"there is no task {words[0]}: `coracle tasks` lists them")
        with tasks.Inside(task.rank.inferior):
            print(f"{tasks.name_of_process(task.rank)}: {headline(task, tasks.now_ns(task.rank, ranks))}")
            for index, coroutine in enumerate(task.chain):
                print_frame(coroutine, index, suspended_at(task, index))


class Frame(Command):
    """coracle frame ADDRESS: the variables of one coroutine; its frame lies at ADDRESS (std::coroutine_handle::address())."""

    word = "frame"

    def run(self, words):
        if len(words) != 1:
            raise gdb.GdbError("usage: coracle frame ADDRESS")
        address = int(gdb.parse_and_eval(words[0]))
        ranks = ranks_or_error()
        for rank in ranks:
            for task in rank.tasks:
                for index, coroutine in enumerate(task.chain):
                    if coroutine.address == address:
                        with tasks.Inside(rank.inferior):
                            print_frame(coroutine, index, suspended_at(task, index))
                        return
        layout = ranks[0].layout
        print("no task has that frame: shown as if one had")
        print_frame(tasks.Coroutine(layout, address + layout.promise.offset_in_frame), 0, None)


class Symbols(Command):
    """coracle symbols [GIB]: loads the symbols of all files in the partition of a rank of pvas that gdb is attached to.

    GIB: for a space that was made with other partitions than of 16 GiB."""

    word = "symbols"

    def run(self, words):
        size = int(words[0]) if words else 16
        images.know_partition(int(gdb.parse_and_eval("(unsigned long)$sp")) & (1 << 64) - 1, size << 30)


class Attach(Command):
    """coracle attach: attaches to the ranks that the process, a launcher, has started; each becomes an inferior of its own."""

    word = "attach"

    def run(self, _):
        here = gdb.selected_inferior()
        if here.pid == 0 or memory.is_core():
            raise gdb.GdbError("attach to a launcher first: coracle gdb PID, where `coracle run -v` or ps tells the number")
        attached = sum(images.attach_if_rank(pid) for pid in images.children_of(here.pid))
        gdb.execute(f"inferior {here.num}", to_string=True)
        print(f"attached to {plural(attached, 'rank')} of process {here.pid}")


Coracle()
for each in (Ranks, Tasks, OneTask, Frame, Attach, Symbols):
    each()
