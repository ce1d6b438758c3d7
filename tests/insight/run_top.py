#!/usr/bin/env python3
"""Drives `coracle top` in a terminal (tmux), in one placement: what it shows, its keys, how it leaves; and `--once`.

    run_top.py CORACLE HANGS SOURCE PLACEMENT

HANGS: the program of tests/programs, SOURCE: its source, whose marks say where its ranks wait.
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

CORACLE, HANGS, SOURCE = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
PLACEMENT = sys.argv[4]
PATIENCE_S = 90
SKIPPED = 77


def place_of(mark):
    for number, line in enumerate(SOURCE.read_text().splitlines(), 1):
        if line.endswith("// " + mark):
            return f"hangs.cpp:{number}"
    sys.exit(f"no line of {SOURCE} ends with {mark}")


def soon(what, condition, describe):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"not within {PATIENCE_S} s: {what}\n{describe()}")
        time.sleep(0.05)


def expect(condition, what, text):
    if not condition:
        sys.exit(f"wanted: {what}\n{text}")


class Job:
    """A job that hangs; it is ended with this."""

    def __init__(self, ranks, how, *options):
        words = [CORACLE, "run", "-n", ranks, "--place", PLACEMENT, "--stall", "0", *options, HANGS, how]
        self.process = subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        self.number = str(self.process.pid)
        soon("the job is listed", lambda: self.number in coracle("ps").stdout, lambda: coracle("ps").stdout)

    def __enter__(self):
        return self

    def end(self):
        self.process.terminate()
        self.process.wait(PATIENCE_S)

    def __exit__(self, *_):
        self.end()


def coracle(*words):
    return subprocess.run([str(CORACLE), *words], capture_output=True, text=True, timeout=PATIENCE_S, check=False)


class Terminal:
    """A shell in a terminal of its own."""

    def __init__(self, folder, columns=130, lines=30):
        self.folder = folder
        self.environment = {**os.environ, "TMUX_TMPDIR": str(folder), "LC_ALL": "C.UTF-8"}
        self.environment.pop("TMUX", None)
        self.size = (columns, lines)

    def tmux(self, *words):
        command = ["tmux", "-L", "top", "-f", "/dev/null", *map(str, words)]
        result = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=PATIENCE_S,
                                check=False)
        expect(result.returncode == 0, command, result.stderr)
        return result.stdout

    def __enter__(self):
        try:
            self.tmux("new-session", "-d", "-x", self.size[0], "-y", self.size[1],
                      "exec env PS1='shell> ' TERM=screen bash --norc --noprofile -i")
            self.tmux("set-option", "-g", "status", "off")
            self.resize(*self.size)
            self.wait_for("^shell>")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        subprocess.run(["tmux", "-L", "top", "kill-server"], env=self.environment, capture_output=True, check=False)

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def keys(self, *names):
        self.tmux("send-keys", *names)

    def command(self, text):
        self.tmux("send-keys", "-l", text)
        self.keys("Enter")

    def wait_for(self, pattern):
        soon(pattern, lambda: re.search(pattern, self.screen(), re.M), self.screen)
        return self.screen()

    def wait_for_none(self, pattern):
        soon(f"no {pattern}", lambda: not re.search(pattern, self.screen(), re.M), self.screen)

    def resize(self, columns, lines):
        self.tmux("resize-window", "-x", columns, "-y", lines)

    def modes(self):
        """Of the pane: the second screen, a cursor, wrapping of lines."""
        return self.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag} #{wrap_flag}").strip()

    def settings(self, name):
        self.command(f"stty -g > {self.folder}/{name}; echo {name} is \"written\"")
        self.wait_for(f"{name} is written")
        return (self.folder / name).read_text()

    def top(self, *words):
        """Starts it; its number."""
        number = self.folder / "number"
        number.unlink(missing_ok=True)
        inner = f"echo $$ > {number}.new; mv {number}.new {number}; exec {CORACLE} top {' '.join(words)}"
        self.command(f"clear; bash -c '{inner}'; echo status \"$?\" now")
        soon("coracle top runs", number.exists, self.screen)
        return int(number.read_text())

    def expect_left(self, status):
        screen = self.wait_for(f"^status {status} now")
        expect(self.modes() == "0 1 1", "the first screen, a cursor and wrapping again", self.modes() + "\n" + screen)
        expect(" q quit" not in screen and "RANKS" not in screen, "no trace of coracle top", screen)
        return screen


def is_running(number):
    try:
        return pathlib.Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_few_ranks(folder):
    with Job(4, "missing member") as job, Terminal(folder) as terminal:
        before = terminal.settings("before")
        terminal.top(job.number, "--interval", "200ms")
        member = rf"is in all_reduce of 8 bytes #1 of all ranks at {place_of('MEMBERS WAIT')}$"
        for rank in (0, 2, 3):
            terminal.wait_for(rf"^{rank} .* {member}")
        terminal.wait_for(rf"^1 .* waits to receive from rank 0, tag 3 at {place_of('MISSING MEMBER')}$")
        screen = terminal.wait_for(r"^deadlock: 3 of 4 are in all_reduce")
        expect(screen.startswith(f"job {job.number}: {HANGS}, 4 ranks on 1 node, {PLACEMENT}, for "), "titles", screen)
        expect(re.search(r"^4 wait; processors 0\.\d", screen, re.M), "counts", screen)
        expect(terminal.modes() == "1 0 0", "the second screen, without cursor and wrapping", terminal.modes())
        for key, order in (("w", "wait"), ("p", "processor"), ("r", "rank")):
            terminal.keys(key)
            terminal.wait_for(rf"\(p\)rocessor: {order}$")
        terminal.keys("f")
        terminal.wait_for(rf"^0,2-3 .* {member}")
        terminal.keys("x", "Escape")  # mean nothing
        test_resizing(terminal)
        terminal.keys("q")
        terminal.expect_left(0)
        expect(terminal.settings("after") == before, "the terminal's settings as they were", before)


def test_resizing(terminal):
    terminal.resize(40, 8)
    terminal.wait_for(r"\A.*\n.*\n.*\nRANKS .*\n0,2-3 .*\n1 .*\n\n q quit .*\n\Z")  # eight lines: cut, not wrapped
    terminal.resize(20, 3)
    terminal.wait_for(r"\Ajob \d+: [^\n]{,15}\n")
    terminal.resize(130, 30)
    terminal.wait_for(rf"^1 .* at {place_of('MISSING MEMBER')}$")


def test_many_ranks(folder, job, ranks):
    last = ranks - 1
    member = rf"is in all_reduce of 8 bytes #1 of all ranks at {place_of('MEMBERS WAIT')}$"
    with Terminal(folder) as terminal:
        terminal.top(job.number, "--interval", "500ms")
        terminal.wait_for(rf"^0,2-{last} .* {member}")
        terminal.wait_for(rf"^1 .* waits to receive from rank 0, tag 3 at {place_of('MISSING MEMBER')}$")
        terminal.keys("f")
        terminal.wait_for(rf"^4 .* {member}")
        terminal.wait_for(rf"^ lines 1-\d+ of {ranks}: ")
        terminal.keys("End")
        terminal.wait_for(rf"^{last} .* {member}")
        terminal.wait_for_none(r"^4 ")
        terminal.resize(130, 20)  # also where fewer fit
        terminal.wait_for(rf"^{last} .* {member}")
        terminal.resize(130, 30)
        terminal.wait_for(rf"^{last - 23} .* {member}")
        terminal.keys("Up")
        terminal.wait_for_none(rf"^{last} ")
        terminal.keys("PPage", "Home", "NPage")
        terminal.wait_for(r"^30 ")
        terminal.wait_for_none(r"^0 ")
        terminal.keys("Home", "Down")
        terminal.wait_for_none(r"^0 ")
        terminal.wait_for(r"^1 ")
        os.kill(job.process.pid, signal.SIGSTOP)
        terminal.wait_for("^the job's launcher does not answer")
        os.kill(job.process.pid, signal.SIGCONT)
        terminal.wait_for_none("^the job's launcher does not answer")
        terminal.keys("C-c")
        terminal.expect_left(0)


def test_ways_out(folder, job):
    with Terminal(folder) as terminal:
        before = terminal.settings("before")
        number = terminal.top(job.number)
        terminal.wait_for("^RANKS ")
        os.kill(number, signal.SIGTERM)
        terminal.expect_left(128 + signal.SIGTERM)
        terminal.command(f"clear; {CORACLE} top {job.number}")
        terminal.wait_for("^RANKS ")
        terminal.keys("C-z")
        terminal.wait_for("Stopped")
        expect(terminal.modes() == "0 1 1", "the shell's terminal while it is stopped", terminal.modes())
        terminal.command("fg")
        terminal.wait_for("^RANKS ")
        terminal.keys("q")
        terminal.wait_for_none("^RANKS ")
        terminal.top(job.number)
        terminal.wait_for("^RANKS ")
        job.end()
        screen = terminal.expect_left(0)
        expect(re.search(rf"^job {job.number} \(.*\) has ended$", screen.replace(f"{HANGS}", "hangs"), re.M),
               "a word that the job has ended", screen)
        expect(terminal.settings("after") == before, "the terminal's settings as they were", before)


def test_lost_terminal(folder, job):
    with Terminal(folder) as terminal:
        number = terminal.top(job.number)
        terminal.wait_for("^RANKS ")
        terminal.tmux("kill-server")
        soon("it ends without its terminal", lambda: not is_running(number), lambda: number)


def test_once(job, ranks):
    result = coracle("top", job.number, "--once")
    text = result.stdout
    expect(result.returncode == 0 and "\x1b" not in text, "status 0 and plain text", text + result.stderr)
    expect(f"{ranks} ranks on 1 node" in text and re.search(rf"^0,2-{ranks - 1} .* at {place_of('MEMBERS WAIT')}$", text, re.M),
           "all ranks but one in one line", text)
    unfolded = coracle("top", job.number, "--unfold", "--interval", "100ms").stdout
    rows = re.findall(rf"^\d+ .* at hangs.cpp:\d+$", unfolded, re.M)
    expect(len(rows) == ranks, "a line for each rank", unfolded)


def test_nodes():
    with Job(4, "missing member", "--nodes", "2") as job:
        def picture():
            return coracle("top", job.number, "--interval", "700ms").stdout
        soon("ranks of both nodes wait", lambda: "4 wait" in picture(), picture)
        text = picture()
        expect("4 ranks on 2 nodes" in text and re.search(r"^RANKS +NODE ", text, re.M), "a column of nodes", text)
        expect(re.search(rf"^3 +1 .* at {place_of('MEMBERS WAIT')}$", text, re.M), "a rank of the other node", text)


def test_wrong_words(job):
    def refuses(status, what, *words):
        result = coracle("top", *words)
        expect(result.returncode == status and what in result.stderr, (status, what), (result.returncode, result.stderr))
    refuses(1, "is no job of yours on this machine", "1")
    refuses(2, "JOB x: must be the process of `coracle run`", "x")
    refuses(2, "--interval 1ms: must be a time from 100ms to 1h", "--interval", "1ms")
    refuses(2, "--sort name: must be rank, wait or processor", "--sort", "name")
    with Job(2, "receives"):
        refuses(1, "say which one (`coracle ps`)")
    alone = ["unshare", "--net", "--map-root-user"]  # where no other job can be heard
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode != 0:
        return print("not tested, since this user may not have a network of his own: that there is no job")
    result = subprocess.run([*alone, str(CORACLE), "top"], capture_output=True, text=True, check=False)
    expect(result.returncode == 1 and "you have no job on this machine" in result.stderr, "no job", result.stderr)


def main():
    if shutil.which("tmux") is None:
        print("skipped: there is no tmux")
        sys.exit(SKIPPED)
    ranks = 240 if PLACEMENT in ("thread", "pvas") else 40
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        test_few_ranks(folder)
        test_nodes()
        with Job(ranks, "missing member") as job:
            test_many_ranks(folder, job, ranks)
            test_once(job, ranks)
            test_wrong_words(job)
            test_lost_terminal(folder, job)
            test_ways_out(folder, job)


main()
