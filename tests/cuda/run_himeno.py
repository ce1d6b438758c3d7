#!/usr/bin/env python3
"""Runs `himeno --device cuda` on stand-ins for GPUs under `coracle run`: the residuals of the processor, many of them, one GPU
for several ranks, and what it says when something is missing.

    run_himeno.py CORACLE HIMENO ON_STAND_IN PLACEMENT      exits with 1 when something is wrong
"""

import os
import pathlib
import subprocess
import sys
import tempfile

CORACLE, HIMENO, ON_STAND_IN, PLACEMENT = sys.argv[1:]
bad = 0


def run(ranks, program, *words, lacking="", place=PLACEMENT):
    command = [CORACLE, "run", "-n", str(ranks), "--place", place, "--timeout", "120s", program, *map(str, words)]
    environment = {**os.environ, "CORACLE_GPU_WITHOUT": lacking}
    return command, subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def expect(good, command, result, what):
    global bad
    if good:
        return
    bad += 1
    print(f"{' '.join(command)}\n  wanted {what}, got status {result.returncode}\n{result.stdout}\n{result.stderr}")


def check_histories(folder):
    """More iterations than sums fit on a GPU at a time."""
    histories = {}
    for name, program, device, ranks in (
        ("cpu", HIMENO, "cpu", 1), ("gpu", ON_STAND_IN, "cuda", 1), ("gpus", ON_STAND_IN, "cuda:0", 2),
    ):
        path = folder / name
        command, result = run(ranks, program, "--device", device, "--size", "6x7x20", "--iterations", 2500, "--history", path)
        expect(result.returncode == 0, command, result, "status 0")
        histories[name] = path.read_text() if path.exists() else ""
        expect(histories[name].count("\n") == 2503 and histories[name] == histories["cpu"], command, result,
               "the processor's residuals")
        if device != "cpu":
            wanted = "kernel cuda:0 (stand-in 0)" + (" shared by 2 ranks" if ranks == 2 else "")
            expect(wanted in result.stdout, command, result, wanted)


def check_complaints():
    # Where one process owns the GPUs nobody else may ask the driver beforehand: opening them tells.
    owned = PLACEMENT == "pvas"
    complaints = [
        (("--device", "gpu"), "", PLACEMENT, 2, "gpu is none of cpu, cuda and cuda:N"),
        (("--device", "cuda"), "kernels", PLACEMENT, 1, "built without its kernels for GPUs; install the CUDA toolkit"),
        (("--device", "cuda"), "devices", PLACEMENT, 1,
         "cuda: looking for devices: cudaErrorNoDevice" if owned else "--device cuda: no GPU can be used: cudaErrorNoDevice"),
        (("--device", "cuda"), "devices", PLACEMENT, 1, "nvidia-smi"),
        (("--device", "cuda"), "luck", PLACEMENT, 1, "device 0 (stand-in 0), channel 0: "),
        (("--device", "cuda:1"), "", PLACEMENT, 1,
         "cuda: there is no device 1: this process sees 1" if owned else "--device cuda:1: there is no such GPU"),
        (("--device", "cuda", "--size", "256x256x200"), "", PLACEMENT, 1, "take a smaller --size, or more GPUs"),
        (("--device", "cuda"), "", "sim", 1, "--device cuda: not under --place sim, in whose time no GPU works"),
    ]
    for words, lacking, place, status, text in complaints:
        command, result = run(2, ON_STAND_IN, "--iterations", 3, *words, lacking=lacking, place=place)
        expect(result.returncode == status and text in result.stderr, command, result, f"status {status} and: {text}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_histories(pathlib.Path(folder))
    check_complaints()
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
