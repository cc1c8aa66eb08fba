#!/usr/bin/env python3
"""Stands between osdyno and the emulator of a guest, and reports what the second serial line carries.

    osdyno lab run --kernel debian:6.12 --accel tcg --boots 1 --qemu 'benches/serial.py qemu-system-x86_64' mmap

It passes on standard input and output as they are. Each boot has a file serial-PID.md in the folder that SERIAL names
(default: the working folder), with one line of Markdown: seconds from the first byte to the last, bytes to and from the
guest, the rate at which a frame comes, and the share of the time in which one is on its way, from its first byte to its
last. The guest packs a frame before, and writes it at once. The file is written whenever the line is silent, because a
guest is killed at the end of a run.

PAUSE is the time in milliseconds between two reads (default: 0.5, as in osdyno). With 0 each byte wakes this script.
"""
import os, select, struct, subprocess, sys, time

SILENCE_SECONDS = 0.05
CHUNK_BYTES = 65536
HEAD = struct.Struct("<4sII")
PAUSE_SECONDS = float(os.environ.get("PAUSE", "0.5")) / 1000


class Direction:
    """One direction of the line."""

    def __init__(self):
        self.bytes = 0
        # From the first byte of frames to their last, and their bytes.
        self.seconds, self.framed_bytes = 0.0, 0
        self.head, self.missing, self.begun = b"", 0, None

    def add(self, chunk, ready, now):
        self.bytes += len(chunk)
        while chunk:
            if not self.missing:
                self.begun = self.begun or ready
                take = HEAD.size - len(self.head)
                self.head, chunk = self.head + chunk[:take], chunk[take:]
                if len(self.head) < HEAD.size:
                    return
                self.missing, self.head = HEAD.unpack(self.head)[1], b""
                self.framed_bytes += HEAD.size + self.missing
            took = min(self.missing, len(chunk))
            self.missing, chunk = self.missing - took, chunk[took:]
            if not self.missing:
                self.seconds += now - self.begun
                self.begun = None


def report(first, last, into, out):
    share = 100 * (into.seconds + out.seconds) / (last - first) if last > first else 0
    mean = out.framed_bytes / out.seconds / 1024 if out.seconds else 0
    folder = os.environ.get("SERIAL", ".")
    with open(f"{folder}/serial-{os.getpid()}.md", "w") as file:
        file.write(f"| {last - first:.1f} s | {into.bytes} | {out.bytes} | {mean:.0f} KiB/s | {share:.1f} % |\n")


def relay(command):
    emulator = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, close_fds=False)
    into, out = Direction(), Direction()
    sources = {0: (emulator.stdin.fileno(), into), emulator.stdout.fileno(): (1, out)}
    first = now = None
    is_reported = True
    while emulator.stdout.fileno() in sources:
        ready = select.select(list(sources), [], [], SILENCE_SECONDS)[0]
        if not ready and not is_reported:
            report(first, now, into, out)
            is_reported = True
        since = time.monotonic()
        if ready:
            time.sleep(PAUSE_SECONDS)
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
            flow.add(chunk, since, now)
            is_reported = False
            while chunk:
                chunk = chunk[os.write(to, chunk):]
    return emulator.wait()


if __name__ == "__main__":
    command = sys.argv[1:]
    # osdyno asks for the version first.
    sys.exit(subprocess.call(command) if command[-1:] == ["--version"] else relay(command))
