#!/usr/bin/env python3
"""Scatter of real runs, for `osdyno selftest --years`.

nights.py OSDYNO FOLDER...   the runs of each folder are runs of one machine without a change between them

Prints, for each series, the natural logarithm of its cost in each run, less the median of its folder.
"""
import json
import math
import statistics
import subprocess
import sys


def main():
    osdyno, *folders = sys.argv[1:]
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
