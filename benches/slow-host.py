#!/usr/bin/env python3
"""How often a fleet names a host that is slower by a known share, and how often one that is not.

slow-host.py OSDYNO [RUNS] [SHARE]: fleets of eight hosts on this machine, which take turns. In every second run one of
them has a pthread_create that takes SHARE (0.10) longer.
"""

import json
import os
import random
import subprocess
import sys
import tempfile

SLOWER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

typedef int (*create_function)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static long now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*work)(void *), void *argument) {
    static create_function create;
    if (!create) create = (create_function)dlsym(RTLD_NEXT, "pthread_create");
    long begun_ns = now_ns();
    int result = create(thread, attributes, work, argument);
    long until_ns = now_ns();
    until_ns += (long)((until_ns - begun_ns) * SHARE);
    while (now_ns() < until_ns) {}
    return result;
}
"""
HOSTS = 8


def library(folder, share):
    source, built = f"{folder}/slower.c", f"{folder}/slower-{share}.so"
    with open(source, "w", encoding="utf-8") as file:
        file.write(SLOWER)
    subprocess.run(["cc", f"-DSHARE={share}", "-O2", "-shared", "-fPIC", "-o", built, source, "-ldl"], check=True)
    return built


def outlying(osdyno, folder, slow, slower, equal):
    """The hosts that a run names; `slow` is the number of the slower one, or None."""
    hosts = [f"n{number}=env LD_PRELOAD={slower if number == slow else equal}" for number in range(1, HOSTS + 1)]
    with open(f"{folder}/hosts", "w", encoding="utf-8") as file:
        file.write("\n".join(hosts) + "\n")
    run = f"{folder}/run.osdyno"
    for path in (run, run.replace(".osdyno", ".html")):
        if os.path.exists(path):
            os.remove(path)
    words = ["-n", "300", "--trials", "20", "--out", run, "--hosts", f"{folder}/hosts", "--at-once", "1"]
    printed = subprocess.run(
        [osdyno, "run", "thread", *words, "--format", "json"], capture_output=True, text=True, check=False
    ).stdout
    fleet = json.loads(printed)["fleet"]
    return {
        outlier["host"]
        for series in fleet["series"]
        if series["name"] == "create"
        for outlier in series["outliers"]
    }


def main():
    osdyno = sys.argv[1]
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    share = sys.argv[3] if len(sys.argv) > 3 else "0.10"
    named = quiet = 0
    with tempfile.TemporaryDirectory() as folder:
        slower, equal = library(folder, share), library(folder, "0.0")
        for number in range(runs):
            slow = random.randint(1, HOSTS)
            found = outlying(osdyno, folder, slow, slower, equal)
            named += found == {f"n{slow}"}
            none = outlying(osdyno, folder, None, slower, equal)
            quiet += not none
            print(f"run {number + 1}: n{slow} is slower, named: {sorted(found)}; none is, named: {sorted(none)}", flush=True)
    print(f"the slower host alone was named in {named} of {runs} runs, and none in {quiet} of {runs} without it")


if __name__ == "__main__":
    main()
