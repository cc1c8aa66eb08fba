#!/usr/bin/env python3
"""Two load generators in network namespaces against one that offers the sum, and how far apart they begin.

benches/fleets.py OSDYNO [ROUNDS [SECONDS [SHARE]]]

It takes root and ip(8); the namespaces are removed in the end. Latency: rounds in turn at a share (0.2) of the rate that
the server completes in a closed loop, from one namespace and from two; the ratio of p50 in each round, and whether p99
of two lies within the 95 % interval of p99 of one. The server has the first processor, and all generators the last, so
that two have no more of the machine than one; both precede other programs (SCHED_FIFO). Start spread: the kernel's time
stamps of the first request of each host, taken from the packets on the server's side, beside the spread that osdyno
estimates from its clocks.
"""
import json
import os
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading

OSDYNO = os.path.abspath(sys.argv[1])
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 10
SECONDS = sys.argv[3] if len(sys.argv) > 3 else "5s"
SHARE = float(sys.argv[4]) if len(sys.argv) > 4 else 0.2
NETWORKS = [f"odbench{os.getpid()}{place}" for place in (1, 2)]
FIRST = ["chrt", "-f", "1", "taskset", "-c", "0"]
LAST = ["chrt", "-f", "1", "taskset", "-c", str(os.cpu_count() - 1)]
SO_TIMESTAMPNS = 35
ETH_P_ALL = 3


def tool(line):
    subprocess.run(line.split(), check=True)


def make_networks():
    for place, name in enumerate(NETWORKS, 1):
        tool(f"ip netns add {name}")
        tool(f"ip link add odb{place}a type veth peer name odb{place}b netns {name}")
        tool(f"ip addr add 10.21{place}.0.1/24 dev odb{place}a")
        tool(f"ip link set odb{place}a up")
        tool(f"ip -n {name} addr add 10.21{place}.0.2/24 dev odb{place}b")
        tool(f"ip -n {name} link set odb{place}b up")
        tool(f"ip -n {name} link set lo up")
        tool(f"ip -n {name} route add default via 10.21{place}.0.1")


def remove_networks():
    for name in NETWORKS:
        subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL)


def load(hosts, url, *words, bound=()):
    command = [OSDYNO, "load", "--format", "json", *words, url]
    for place in hosts:
        command += ["--from", f"n{place}={' '.join(bound)} ip netns exec {NETWORKS[place - 1]}"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode not in (0, 3):
        sys.exit(done.stderr)
    return json.loads(done.stdout)["levels"][0]


def percentile(level, percent):
    return next(one for one in level["latency"]["percentiles"] if one["percent"] == percent)


def is_void(level):
    return bool(level["joint"].get("void"))


class Packets(threading.Thread):
    """The time of the first packet with data to the server that arrives from one network."""

    def __init__(self, interface, port):
        super().__init__(daemon=True)
        self.port = port
        self.first_ns = None
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self.socket.bind((interface, 0))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.socket.settimeout(20)

    def run(self):
        try:
            while self.first_ns is None:
                packet, control, _, _ = self.socket.recvmsg(2048, 128)
                if self.is_request(packet):
                    seconds, nanoseconds = struct.unpack("qq", control[0][2][:16])
                    self.first_ns = seconds * 1_000_000_000 + nanoseconds
        except TimeoutError:
            pass

    def is_request(self, packet):
        if packet[12:14] != b"\x08\x00" or packet[23] != 6:
            return False
        ip_bytes = (packet[14] & 15) * 4
        tcp = 14 + ip_bytes
        data = struct.unpack("!H", packet[16:18])[0] - ip_bytes - (packet[tcp + 12] >> 4) * 4
        return data > 0 and struct.unpack("!H", packet[tcp + 2 : tcp + 4])[0] == self.port


def latencies(url):
    capacity = load([1], url, "-c", "8", "-d", "2s", bound=LAST)["completed_per_second"]
    rate = str(int(capacity * SHARE))
    print(f"capacity {capacity:.0f} requests/s in a closed loop of 8 connections; offered: {rate}/s for {SECONDS}")
    words = ["-c", "20", "-r", rate, "-d", SECONDS]
    ratios, within, voids = [], [], 0
    for number in range(ROUNDS):
        order = [[1], [1, 2]] if number % 2 == 0 else [[1, 2], [1]]
        levels = {len(hosts): load(hosts, url, *words, "--seed", str(number + 1), bound=LAST) for hosts in order}
        if is_void(levels[2]):
            voids += 1
            print("void:", levels[2]["joint"]["void"])
            continue
        ratios.append(percentile(levels[2], 50)["seconds"] / percentile(levels[1], 50)["seconds"])
        one, two = percentile(levels[1], 99), percentile(levels[2], 99)
        low, high, found = one["low"], one["high"], two["seconds"]
        within.append(found is not None and low <= found and (high is None or found <= high))
        print(f"  p50 {ratios[-1]:.3f}  p99 {found} in {low}-{high}", file=sys.stderr)
    median, low, high = statistics.median(ratios), min(ratios), max(ratios)
    print(f"p50 of two / p50 of one: {median:.3f} ({low:.3f}-{high:.3f}) in {len(ratios)} rounds, {voids} void")
    print(f"p99 of two within the interval of one: {sum(within)} of {len(within)}")


def spreads(url, port):
    measured, estimated, errors = [], [], []
    for number in range(ROUNDS):
        packets = [Packets(f"odb{place}a", port) for place in (1, 2)]
        for one in packets:
            one.start()
        level = load([1, 2], url, "-c", "2", "-d", "300ms", "--seed", str(number + 1))
        for one in packets:
            one.join()
        if None in [one.first_ns for one in packets]:
            continue
        measured.append(abs(packets[0].first_ns - packets[1].first_ns) / 1e3)
        estimated.append(level["joint"]["start_spread_seconds"] * 1e6)
        errors.append(level["joint"]["start_spread_error_seconds"] * 1e6)
    for name, values in [("by packets", measured), ("estimated", estimated), ("± of the estimate", errors)]:
        print(f"start spread {name}: median {statistics.median(values):.0f} µs, most {max(values):.0f} µs")


def main():
    folder = tempfile.TemporaryDirectory()
    with open(f"{folder.name}/page", "wb") as page:
        page.write(b"x" * 590)
    server = None
    try:
        make_networks()
        words = ["serve", "--listen", "10.211.0.1:8089"]
        server = subprocess.Popen([*FIRST, OSDYNO, *words], cwd=folder.name, stderr=subprocess.PIPE, text=True)
        server.stderr.readline()
        url = "http://10.211.0.1:8089/page"
        latencies(url)
        spreads(url, 8089)
    finally:
        if server:
            server.terminate()
            server.wait()
        remove_networks()


main()
