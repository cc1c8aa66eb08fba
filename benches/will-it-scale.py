#!/usr/bin/env python3
"""The speed-up of two tasks by osdyno and by will-it-scale, alternately.

will-it-scale.py OSDYNO FOLDER [ROUNDS]; FOLDER has the programs that will-it-scale's `make` builds.
"""

import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

# The program, how it makes tasks, and the same operation of osdyno.
PAIRS = [
    ("getppid1", "threads", "cores-syscall/threads"),
    ("open1", "threads", "cores-open/threads-folder"),
    ("pwrite1", "processes", "cores-file-write/processes"),
    ("pread1", "threads", "cores-file-read/threads"),
    ("mmap1", "threads", "cores-map/threads"),
    ("page_fault1", "processes", "cores-fault/processes"),
    ("pipe1", "processes", "cores-pipe/processes"),
    ("unix1", "processes", "cores-unix/processes"),
]
# A level does not count while another program has its processor.
ATTEMPTS = 10


def theirs(program, tasks):
    """Operations per second of so many tasks: the median of two seconds."""
    command = [program, "-t", str(tasks), "-s", "2"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    totals = [int(total) for total in re.findall(r"total:(\d+)", printed)]
    return statistics.median(totals[-2:])


def ours(osdyno, workload):
    """The speed-up, or None where no level counts."""
    for _ in range(ATTEMPTS):
        with tempfile.TemporaryDirectory() as folder:
            run = f"{folder}/run.osdyno"
            words = ["-n", "2", "--trials", "1", "--window", "1s", "--out", run]
            subprocess.run([osdyno, "run", workload, *words], capture_output=True, check=False)
            exported = subprocess.run([osdyno, "export", "--format", "json", run], capture_output=True, check=False)
            series = json.loads(exported.stdout or "[]")
        for one in series:
            rates = dict(zip(one["n"], one["value"])) if one["series"] == "rate" else {}
            if rates.get(1) and rates.get(2):
                return rates[2] / rates[1]
    return None


def main():
    osdyno, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    found = {pair: [] for pair in PAIRS}
    for _ in range(rounds):
        for program, means, workload in PAIRS:
            path = str(folder / f"{program}_{means}")
            other, own = theirs(path, 2) / theirs(path, 1), ours(osdyno, workload)
            if own:
                found[program, means, workload].append((own, other))
    for (program, means, workload), ratios in found.items():
        if not ratios:
            print(f"{workload}: no level counts")
            continue
        own, other = (statistics.median(side) for side in zip(*ratios))
        both = statistics.median(a / b for a, b in ratios)
        print(f"{workload:28} ×{own:.2f}, {program}_{means} ×{other:.2f}, ratio {both:.2f}")


main()
