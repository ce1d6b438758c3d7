#!/usr/bin/env python3
"""What a job loses by a `coracle top` beside it: runs it with and without one in turn, and tells the medians of the times
by the clock and of the processor times, of the job with its launcher, and of the view itself.

    top_cost.py ROUNDS INTERVAL CORACLE OPTION... PROGRAM ARGUMENT...

OPTION...: those of `coracle run`.
"""
import os
import pty
import statistics
import subprocess
import sys
import threading
import time


def times_of(number):
    """Waits for a process: its processor time, and that of all that it has waited for."""
    _, status, usage = os.wait4(number, 0)
    if status != 0:
        sys.exit(f"process {number} has failed: {status}")
    return usage.ru_utime + usage.ru_stime


def start_view(coracle, job, interval):
    number, terminal = pty.fork()
    if number == 0:
        os.execve(coracle, [coracle, "top", str(job), "--interval", interval], {**os.environ, "TERM": "xterm"})

    def drain():
        try:
            while os.read(terminal, 65536):
                pass
        except OSError:  # it has ended
            pass
    threading.Thread(target=drain, daemon=True).start()
    return number


def run(coracle, words, interval):
    """Of one round: seconds by the clock, of the job's processors, and of the view's."""
    before = time.monotonic()
    job = subprocess.Popen([coracle, "run", *words], stdout=subprocess.DEVNULL).pid
    view = None
    if interval:
        time.sleep(0.2)  # it has its launcher by then
        view = start_view(coracle, job, interval)
    spent = times_of(job)
    clock = time.monotonic() - before
    return clock, spent, times_of(view) if view else 0.0


def main():
    rounds, interval, coracle, *words = sys.argv[1:]
    without, beside = [], []
    for _ in range(int(rounds)):
        without.append(run(coracle, words, None))
        beside.append(run(coracle, words, interval))
    for name, results in (("without", without), ("beside top", beside)):
        clock, spent, view = (statistics.median(column) for column in zip(*results))
        print(f"{name:>10}: {clock:.2f} s by the clock, {spent:.2f} s of processors; the view {view:.3f} s")
    for what, column in (("clock", 0), ("processors", 1)):
        ratios = [100 * (b[column] / a[column] - 1) for a, b in zip(without, beside)]
        print(f"{what}: {statistics.median(ratios):+.2f} % (median of the rounds, of {min(ratios):+.1f} to {max(ratios):+.1f})")


main()
