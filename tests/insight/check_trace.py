#!/usr/bin/env python3
"""Looks whether a trace in Chrome's format is one: check_trace.py FILE [--ranks N] [--includes RANK] [--has CATEGORY]...
[--cut]. Each message that was received was sent, and not after; each that was sent was received (but with --cut: of a job that was ended, or
where events were dropped); in each row spans lie side by side or in each other; nothing was dropped unless it is said
so."""

import argparse
import collections
import json
import sys


class Trace:
    def __init__(self, path):
        with open(path) as file:
            whole = json.load(file)
        self.other = whole["otherData"]
        self.events = whole["traceEvents"]
        self.spans = [event for event in self.events if event["ph"] == "X"]
        self.complaints = []

    def complain(self, text):
        self.complaints.append(text)

    @staticmethod
    def nanoseconds(microseconds):
        return round(microseconds * 1000)


def check_nesting(trace):
    rows = collections.defaultdict(list)
    for span in trace.spans:
        begin = trace.nanoseconds(span["ts"])
        rows[span["pid"], span["tid"]].append((begin, begin + trace.nanoseconds(span["dur"]), span["name"]))
    for row, spans in rows.items():
        around = []
        for begin, end, name in sorted(spans, key=lambda span: (span[0], -span[1])):
            if end <= begin:
                trace.complain(f"{name} in {row} ends at {end}, and has begun at {begin}")
            while around and around[-1][1] <= begin:
                around.pop()
            if around and end > around[-1][1]:
                trace.complain(f"{name} ({begin} to {end}) overlaps {around[-1]} in {row}")
            around.append((begin, end, name))


def check_times(trace):
    for span in trace.spans:
        if span["ts"] < 0 or span["dur"] <= 0:
            trace.complain(f"{span['name']} at {span['ts']} for {span['dur']}")


def messages(trace, word):
    """{(sender, receiver, number): span} of sends, or of receives."""
    found = {}
    for span in trace.spans:
        if span["cat"] != "message" or not span["name"].startswith(word):
            continue
        here, there, number = span["pid"], span["args"]["peer"], span["args"]["number"]
        name = (here, there, number) if word == "send" else (there, here, number)
        if name in found:
            trace.complain(f"{span['name']}: number {number} twice")
        found[name] = span
    return found


def check_messages(trace, is_cut):
    sent, received = messages(trace, "send"), messages(trace, "receive")
    is_cut = is_cut or any(trace.other["dropped"].values())
    for name, span in received.items():
        send = sent.get(name)
        if send is None:
            if not is_cut:
                trace.complain(f"message {name} was received and not sent")
            continue
        if trace.nanoseconds(span["ts"]) < trace.nanoseconds(send["ts"]):
            trace.complain(f"message {name} came at {span['ts']} and was sent at {send['ts']}")
        for what in ("bytes", "tag", "team"):
            if span["args"].get(what, 0) != send["args"].get(what, 0):
                trace.complain(f"message {name}: {what} differs: {send['args']}, {span['args']}")
    if not is_cut:
        for name in sent.keys() - received.keys():
            trace.complain(f"message {name} was sent and not received")
    check_arrows(trace, len(sent.keys() & received.keys()))
    return len(sent)


def check_arrows(trace, expected):
    begins = {event["id"]: event for event in trace.events if event["ph"] == "s"}
    ends = {event["id"]: event for event in trace.events if event["ph"] == "f"}
    if begins.keys() != ends.keys():
        trace.complain(f"{len(begins)} arrows begin and {len(ends)} end")
    of_messages = [event for event in begins.values() if event["cat"] == "message"]
    if len(of_messages) != expected:
        trace.complain(f"{len(of_messages)} arrows of {expected} messages")
    for number, begin in begins.items():
        if number in ends and trace.nanoseconds(ends[number]["ts"]) < trace.nanoseconds(begin["ts"]):
            trace.complain(f"arrow {number} goes back in time")


def check_collectives(trace, is_cut):
    calls = collections.defaultdict(set)
    for span in trace.spans:
        if span["cat"] == "collective":
            calls[span["args"]["team"], span["args"]["number"]].add(span["name"])
    return check_calls(trace, calls, is_cut)


def words_of(description, place):
    """The command line of a checker: `place` is what it calls the trace's file or folder."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(place)
    parser.add_argument("--ranks", type=int)
    parser.add_argument("--has", action="append", default=[], metavar="KIND", help="of a span")
    parser.add_argument("--includes", type=int, help="a rank that is there, whichever else is")
    parser.add_argument("--cut", action="store_true")
    return parser.parse_args()


def check_calls(trace, calls, is_cut):
    """All members of a team that are there call the same: names by the number of the call."""
    if not is_cut:
        for call, names in calls.items():
            if len(names) != 1:
                trace.complain(f"collective {call} is {sorted(names)}")
    return len(calls)


def check_presence(trace, arguments, ranks, kinds):
    if arguments.ranks is not None and ranks != set(range(arguments.ranks)):
        trace.complain(f"ranks {sorted(ranks)} are there, and not {arguments.ranks}")
    if arguments.includes is not None and arguments.includes not in ranks:
        trace.complain(f"ranks {sorted(ranks)} are there, and not {arguments.includes}")
    for kind in arguments.has:
        if kind not in kinds:
            trace.complain(f"there is no {kind}, only {sorted(kinds)}")


def told(trace, spans, ranks, messages, collectives, dropped):
    """The exit status."""
    for complaint in trace.complaints[:20]:
        print(complaint)
    print(f"{spans} spans of {len(ranks)} ranks, {messages} messages, {collectives} collectives, {dropped} dropped; "
          f"{len(trace.complaints)} complaints")
    return 1 if trace.complaints else 0


def main():
    arguments = words_of(__doc__, "file")
    trace = Trace(arguments.file)
    check_times(trace)
    check_nesting(trace)
    messages = check_messages(trace, arguments.cut)
    collectives = check_collectives(trace, arguments.cut)
    ranks = {span["pid"] for span in trace.spans if span["cat"] == "rank"}
    check_presence(trace, arguments, ranks, {span["cat"] for span in trace.spans})
    if not arguments.cut and any(span["args"].get("unfinished") for span in trace.spans if span["cat"] == "rank"):
        trace.complain("a rank has not ended")
    return told(trace, len(trace.spans), ranks, messages, collectives, sum(trace.other["dropped"].values()))


if __name__ == "__main__":
    sys.exit(main())
