#!/usr/bin/env python3
"""Runs the program of docs/why.md that hangs, and looks for the verdict that stands there.

    run_hang.py CORACLE PROGRAM"""

import subprocess
import sys

coracle, program = sys.argv[1:]
words = [coracle, "run", "-n", "4", "--place", "process", "--stall", "1s", "--timeout", "8s", program]
ended = subprocess.run(words, capture_output=True, text=True, timeout=100, check=False)
wanted = "deadlock: rank 0 waits for rank 1 waits for rank 2 waits for rank 3 waits for rank 0, all in send, tag 7\n"
print(ended.stderr)
sys.exit(0 if ended.returncode == 124 and wanted in ended.stderr else f"wanted: status 124 and '{wanted}'")
