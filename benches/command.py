#!/usr/bin/env python3
"""The time that osdyno, hyperfine and poop add to a command, and the differences that they see where there are none.

benches/command.py OSDYNO HYPERFINE [ROUNDS [POOP]]

Overhead: rounds of all, alternating, on `true`; the ratios of the means in each round. poop needs counters of the
processor; where a virtual machine has none, one that opens software events in their place executes as it does.
Errors: pairs of one and the same command beside a process that is busy in bursts; a difference is one that osdyno
calls certain, and one in which the means of hyperfine are more than two standard errors apart.
"""
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

OSDYNO, HYPERFINE = (os.path.abspath(path) for path in sys.argv[1:3])
ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else 10
POOP = os.path.abspath(sys.argv[4]) if len(sys.argv) > 4 else None
UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
BURSTS = "import time\nwhile True:\n    end = time.time() + 0.2\n    while time.time() < end: pass\n    time.sleep(0.3)"
COMMAND = "sh -c 'i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done'"


def output(*words):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def own(*words):
    """Runs osdyno, and returns what it printed and the times of each command, with those of `true`."""
    with tempfile.TemporaryDirectory() as folder:
        run = f"{folder}/a.osdyno"
        printed = output(OSDYNO, "run", "--out", run, *words)
        return printed, json.loads(output(OSDYNO, "export", "--format", "hyperfine", run))["results"]


def other(*words):
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        output(HYPERFINE, "-N", "--export-json", file.name, *words)
        return json.load(open(file.name))["results"]


def poop_mean(*words):
    printed = output(POOP, "--color", "never", "--duration", "700", *words)
    number, unit = re.search(r"wall_time +([0-9.]+)([a-z]+)", printed).groups()
    return float(number) * UNITS[unit]


def overhead():
    measure = {
        "osdyno": lambda: own("--trials", "4", "--", "true")[1][0],
        "hyperfine": lambda: other("--warmup", "10", "--runs", "500", "true")[0],
    }
    if POOP:
        measure["poop"] = lambda: {"mean": poop_mean("true")}
    ratios = {}
    for number in range(ROUNDS):
        order = list(measure)[number % len(measure):] + list(measure)[:number % len(measure)]
        results = {which: measure[which]() for which in order}
        of_own = results.pop("osdyno")
        for name, result in results.items():
            ratios.setdefault(f"time of `true`, × {name}", []).append(of_own["mean"] / result["mean"])
            if "user" in result:
                taken = [one["user"] + one["system"] for one in (of_own, result)]
                ratios.setdefault(f"processor time, × {name}", []).append(taken[0] / taken[1])
    for name, of in ratios.items():
        middle, low, high = statistics.median(of), min(of), max(of)
        print(f"{name}: {middle:.2f} ({low:.2f}–{high:.2f}), {ROUNDS} rounds")


def errors():
    seen = {"osdyno": 0, "hyperfine": 0}
    neighbour = subprocess.Popen([sys.executable, "-c", BURSTS])
    try:
        for _ in range(ROUNDS):
            printed, _ = own("--trials", "10", "--names", "a,b", "--vs", COMMAND, "--", COMMAND)
            seen["osdyno"] += bool(re.search(r"has [\d.]+× the time", printed))
            one, two = other("--warmup", "2", COMMAND, COMMAND)
            ratio = max(one["mean"], two["mean"]) / min(one["mean"], two["mean"])
            error = ratio * ((one["stddev"] / one["mean"]) ** 2 + (two["stddev"] / two["mean"]) ** 2) ** 0.5
            standard = error / len(one["times"]) ** 0.5
            seen["hyperfine"] += ratio - 1 > 2 * standard
    finally:
        neighbour.kill()
        neighbour.wait()
    print(f"a command against itself beside bursts: differences seen in {seen} of {ROUNDS} pairs")


overhead()
errors()
