#!/usr/bin/env python3
"""Looks whether a trace in OTF2 is one, by what otf2-print says of it: check_otf2.py FOLDER [--ranks N] [--includes RANK]
[--has ROLE]... [--cut]. Each message that was received was sent, and not after; each that was sent was received (but with
--cut: of a job that was ended, or where events were dropped); in each location what is entered last is left first, all is
left, and time does not go back."""

import collections
import pathlib
import re
import subprocess
import sys

from check_trace import check_calls, check_presence, told, words_of

DEFINITION = {
    "region": re.compile(r'REGION +(\d+) +Name: "(.*?)" <\d+>.* Role: (\w+),.* File: (.*), Begin: (\d+),'),
    "location": re.compile(r'LOCATION +(\d+) +Name: "(.*?)" <\d+>, .*# Events: (\d+), Group: "rank (\d+)"'),
    "group": re.compile(r'LOCATION_GROUP +(\d+) +Name: "rank (\d+)" <\d+>, Type: PROCESS, Parent: "(.*?)"'),
    "dropped": re.compile(r'LOCATION_GROUP_PROPERTY +Location Group: "rank (\d+)" <\d+>, Name: "dropped" <\d+>, .*Value: (\d+)'),
    "node": re.compile(r'SYSTEM_TREE_NODE +(\d+) +Name: "(node \d+)"'),
    "members": re.compile(r"GROUP +\d+ .*Type: COMM_LOCATIONS, .* (\d+) Members?:"),
}
EVENT = re.compile(r"([A-Z_]+) +(\d+) +(\d+)  (.*)")
ATTRIBUTE = re.compile(r'\("(\w+)" <\d+>; UINT64; (\d+)\)')
MESSAGE = re.compile(r'(?:Receiver|Sender): (\d+) \(.*\), Communicator: "all ranks" <\d+>, Tag: (\d+), Length: (\d+)')
COLLECTIVES = ("BARRIER", "COLL_ONE2ALL", "COLL_ALL2ONE", "COLL_ALL2ALL")

Event = collections.namedtuple("Event", "kind location time text attributes")


def printed(folder, *options):
    command = ["otf2-print", *options, str(folder / "traces.otf2")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0 or result.stderr:
        sys.exit(f"{' '.join(command)}: status {result.returncode}\n{result.stdout[-1000:]}\n{result.stderr[-3000:]}")
    return result.stdout.splitlines()


class Trace:
    def __init__(self, folder):
        self.complaints = []
        self.found = collections.defaultdict(list)
        for line in printed(folder, "-G"):
            for what, pattern in DEFINITION.items():
                match = pattern.match(line)
                if match:
                    self.found[what].append(match.groups())
        self.role_of = {int(number): role for number, _, role, _, _ in self.found["region"]}
        self.rank_of = {int(number): int(rank) for number, _, _, rank in self.found["location"]}
        self.dropped = {int(rank): int(count) for rank, count in self.found["dropped"]}
        self.properties = dict(re.findall(r"Property name +(\S+)\nProperty value +(\S+)", "\n".join(printed(folder, "-I"))))
        self.events = []
        for line in printed(folder):
            match = EVENT.match(line)
            if match:
                kind, location, time, text = match.groups()
                self.events.append(Event(kind, int(location), int(time), text, {}))
            elif "ADDITIONAL ATTRIBUTES" in line:
                self.events[-1].attributes.update((name, int(value)) for name, value in ATTRIBUTE.findall(line))

    def complain(self, text):
        self.complaints.append(text)

    def role(self, event):
        return self.role_of[int(re.search(r"<(\d+)>$", event.text).group(1))]


def check_definitions(trace):
    ranks = {int(rank) for _, rank, _ in trace.found["group"]}
    nodes = {name for _, name in trace.found["node"]}
    for _, rank, parent in trace.found["group"]:
        if parent.removeprefix("node::") not in nodes and parent != "job::job":
            trace.complain(f"rank {rank} is of {parent}")
    members = [int(count) for (count,) in trace.found["members"]]
    if members != [len(ranks)] or ranks != set(range(len(ranks))):
        trace.complain(f"communicators of {members} members, of ranks {sorted(ranks)}")
    if set(trace.dropped) != ranks or sum(trace.dropped.values()) != int(trace.properties["CORACLE::DROPPED"]):
        trace.complain(f"dropped are {trace.dropped}, or {trace.properties}")
    told = {int(number): int(count) for number, _, count, _ in trace.found["location"]}
    seen = collections.Counter(event.location for event in trace.events)
    for location, count in told.items():
        if seen[location] != count:
            trace.complain(f"{seen[location]} events in location {location}, and {count} by its definition")


def check_rows(trace):
    last, around = collections.defaultdict(int), collections.defaultdict(list)
    for event in trace.events:
        if event.time < last[event.location]:
            trace.complain(f"{event.text} at {event.time}, after {last[event.location]}, in location {event.location}")
        last[event.location] = event.time
        if event.kind == "ENTER":
            around[event.location].append(event.text)
        elif event.kind == "LEAVE":
            entered = around[event.location].pop() if around[event.location] else "nothing"
            if entered != event.text:
                trace.complain(f"{event.text} is left in location {event.location}, and {entered} was entered")
    for location, regions in around.items():
        if regions:
            trace.complain(f"{regions} are not left in location {location}")


def messages(trace, kind):
    """{(sender, receiver): [(tag, length, number, time)]} in the order of each pair's events."""
    found = collections.defaultdict(list)
    for event in trace.events:
        if event.kind != kind:
            continue
        here, match = trace.rank_of[event.location], MESSAGE.match(event.text)
        if event.location != here:
            trace.complain(f"{event.text} in location {event.location}, which is not the rank's in the communicator")
        there, tag, length = (int(word) for word in match.groups())
        pair = (here, there) if kind == "MPI_SEND" else (there, here)
        found[pair].append((tag, length, event.attributes["number"], event.time))
    return found


def check_messages(trace, is_cut):
    """A reader matches the n-th send of a pair and tag with the n-th receive: these must be the same message."""
    sent, received = messages(trace, "MPI_SEND"), messages(trace, "MPI_RECV")
    for pair in sent.keys() | received.keys():
        sends, receives = sent[pair], received[pair]
        if len(sends) != len(receives) and not is_cut:
            trace.complain(f"{len(sends)} messages were sent and {len(receives)} received: {pair}")
        for send, receive in zip(sends, receives):
            if send[:3] != receive[:3]:
                trace.complain(f"{pair}: {send} was sent and {receive} received (tag, bytes, number, time)")
            if receive[3] < send[3]:
                trace.complain(f"{pair}: sent at {send[3]} and received at {receive[3]}")
    return sum(len(of_pair) for of_pair in sent.values())


def check_collectives(trace, is_cut):
    calls = collections.defaultdict(set)
    for event in trace.events:
        if event.kind == "ENTER" and trace.role(event) in COLLECTIVES:
            name = re.search(r'"(.*)"', event.text).group(1)
            calls[event.attributes["team"], event.attributes["number"]].add(name)
    return check_calls(trace, calls, is_cut)


def main():
    arguments = words_of(__doc__, "folder")
    trace = Trace(pathlib.Path(arguments.folder))
    is_cut = arguments.cut or any(trace.dropped.values())
    check_definitions(trace)
    check_rows(trace)
    messages = check_messages(trace, is_cut)
    collectives = check_collectives(trace, is_cut)
    ranks = {trace.rank_of[event.location] for event in trace.events}
    entered = [event for event in trace.events if event.kind == "ENTER"]
    check_presence(trace, arguments, ranks, {trace.role(event) for event in entered})
    return told(trace, len(entered), ranks, messages, collectives, sum(trace.dropped.values()))


if __name__ == "__main__":
    sys.exit(main())
