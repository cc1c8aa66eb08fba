#!/usr/bin/env python3
"""Stands between osdyno and the emulator of a guest, and reports what the second serial line carries.

    osdyno lab run --kernel debian:6.12 --accel tcg --boots 1 --qemu 'benches/serial.py qemu-system-x86_64' mmap

It passes on standard input and output as they are. Each boot has a file serial-PID.md in the folder that SERIAL names
(default: the working folder), with one line of Markdown: seconds from the first byte to the last, bytes to and from the
guest, and the latter as zlib packs them, the rate from the guest while bytes flow, its highest over 64 KiB, and the
share of the time in which bytes flow in either direction. It is written whenever the line is silent, because a guest
is killed at the end of a run.
"""
import os, select, subprocess, sys, time, zlib

# Bytes that come within this time of the ones before belong to the same flow. A byte takes 0.1 ms at least, and an
# emulator may be without the processor for a while.
FLOW_SECONDS = 0.05
CHUNK_BYTES = 65536


class Flow:
    """One direction of the line."""

    def __init__(self):
        self.bytes = self.seconds = self.packed = 0
        self.fastest = 0.0
        self.last = None
        self.burst = [0, 0.0]
        self.packer = zlib.compressobj(1)

    def add(self, chunk, now):
        gap = now - self.last if self.last is not None else FLOW_SECONDS
        if gap < FLOW_SECONDS:
            self.seconds += gap
            self.burst = [self.burst[0] + len(chunk), self.burst[1] + gap]
        else:
            self.burst = [0, 0.0]
        # A rate of fewer bytes would be that of a buffer.
        if self.burst[0] >= CHUNK_BYTES and self.burst[1] > 0:
            self.fastest = max(self.fastest, self.burst[0] / self.burst[1])
        self.bytes += len(chunk)
        self.packed += len(self.packer.compress(chunk))
        self.last = now

    def packed_bytes(self):
        return self.packed + len(self.packer.copy().flush())


def report(first, last, into, out):
    both = into.seconds + out.seconds
    share = 100 * both / (last - first) if last > first else 0
    mean = out.bytes / out.seconds / 1024 if out.seconds else 0
    folder = os.environ.get("SERIAL", ".")
    with open(f"{folder}/serial-{os.getpid()}.md", "w") as file:
        file.write(
            f"| {last - first:.1f} s | {into.bytes} | {out.bytes} | {out.packed_bytes()} | {mean:.0f} KiB/s "
            f"| {out.fastest / 1024:.0f} KiB/s | {share:.1f} % |\n"
        )


def relay(command):
    emulator = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, close_fds=False)
    into, out = Flow(), Flow()
    sources = {0: (emulator.stdin.fileno(), into), emulator.stdout.fileno(): (1, out)}
    first = now = None
    is_reported = True
    while emulator.stdout.fileno() in sources:
        ready = select.select(list(sources), [], [], FLOW_SECONDS)[0]
        if not ready and not is_reported:
            report(first, now, into, out)
            is_reported = True
        for source in ready:
            chunk = os.read(source, CHUNK_BYTES)
            if not chunk:
                del sources[source]
                if source == 0:
                    emulator.kill()
                continue
            to, flow = sources[source]
            now = time.monotonic()
            first = first or now
            flow.add(chunk, now)
            is_reported = False
            while chunk:
                chunk = chunk[os.write(to, chunk):]
    return emulator.wait()


if __name__ == "__main__":
    command = sys.argv[1:]
    # osdyno asks for the version first.
    sys.exit(subprocess.call(command) if command[-1:] == ["--version"] else relay(command))
