#!/usr/bin/env python3
"""Times the pages of `osdyno view` on a folder of runs: benches/view.py OSDYNO FOLDER

The list is asked for the first time with an empty page cache (as root), again, and after the three seconds in which
nobody looks whether the folder changed; then three comparisons, the first of them twice.
`OSDYNO_BENCH_FOLDER=FOLDER cargo test --release -p history -- --ignored` makes a folder of 10,000 runs.
"""

import os
import re
import subprocess
import sys
import time
import urllib.request


def main(osdyno, folder):
    subprocess.run([osdyno, "history", folder], stdout=subprocess.DEVNULL, check=False)
    if os.geteuid() == 0:
        os.sync()
        with open("/proc/sys/vm/drop_caches", "w") as caches:
            caches.write("3")
    view = subprocess.Popen([osdyno, "view", folder], stdout=subprocess.PIPE, text=True)
    try:
        address = view.stdout.readline().split()[-1]

        def page(name, path):
            begun = time.monotonic()
            body = urllib.request.urlopen(address + path).read()
            print(f"{name}: {1000 * (time.monotonic() - begun):.0f} ms, {len(body) / 1000:.0f} kB")
            return body.decode()

        page("list, first", "")
        listed = page("list, again", "")
        page("history", "history.html")
        compared = re.findall(r'href="(compare/[^"]+)"', listed)[:3]
        for path in compared + compared[:1]:
            body = page("comparison", path)
            print(f"  without figures {len(re.sub('<figure.*?</figure>', '', body, flags=re.S)) / 1000:.0f} kB")
        time.sleep(3)
        page("list, after three seconds", "")
    finally:
        view.terminate()


main(*sys.argv[1:])
