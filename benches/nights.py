#!/usr/bin/env python3
"""Scatter of real runs, for `osdyno selftest --years`.

nights.py OSDYNO FOLDER...      the runs of each folder are runs of one machine without a change between them
nights.py OSDYNO --pairs RUN    a run of one system against itself: osdyno run --system base= --system head=

Prints, for each series, the natural logarithm of its cost in each run, less the median of its folder; or head
divided by base, with its 95 % interval.
"""
import json
import math
import statistics
import subprocess
import sys


def ratios(answer):
    """Every ratio over all n in an answer of compare."""
    if isinstance(answer, dict):
        overall = answer.get("overall")
        if isinstance(overall, dict) and overall.get("ratio"):
            yield overall["ratio"]
        answer = list(answer.values())
    if isinstance(answer, list):
        for part in answer:
            yield from ratios(part)


def pairs(osdyno, run):
    done = subprocess.run([osdyno, "compare", run, "--format", "json"], capture_output=True)
    for ratio in ratios(json.loads(done.stdout)):
        if ratio["low"] and ratio["high"] and ratio["low"] < ratio["high"]:
            print(f"{ratio['value']:.5f},{ratio['low']:.5f},{ratio['high']:.5f}")


def main():
    osdyno, *folders = sys.argv[1:]
    if folders[:1] == ["--pairs"]:
        return pairs(osdyno, folders[1])
    rows = {}
    for folder in folders:
        done = subprocess.run([osdyno, "history", folder, "--format", "json"], capture_output=True, check=True)
        machine = json.loads(done.stdout)["machines"][0]
        for series in machine["series"]:
            # How throughput scales over processors has a scatter of its own kind.
            if series["detail"] or series["workload"].startswith("cores"):
                continue
            costs = [math.log(value) for value in series["values"] if value]
            middle = statistics.median(costs)
            name = series["series"].replace(",", ";")
            rows.setdefault(name, []).extend(cost - middle for cost in costs)
    for name, distances in rows.items():
        print(name + "," + ",".join(f"{distance:.5f}" for distance in distances))


main()
