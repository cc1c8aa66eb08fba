#!/usr/bin/env python3
"""Compares the start of a trial in a guest, as osdyno orders it, with the start of the same program by a shell there.

    benches/lab.py [TRIALS [KERNEL [OSDYNO]]]        20 debian:6.12 target/release/osdyno
    benches/lab.py idle WORKLOAD…                    the words of `osdyno run`, such as: socket fork --trials 30

osdyno boots the kernel in QEMU (TCG) and measures `noop -n 60` in it TRIALS times. Then the same kernel boots with the
same files and a shell as its first process, which gives the supervisor of a trial the same order as often. Both are
timed where this script relays the second serial line: from the order, or the mark of the shell before it starts the
program, to the first byte of the trial's record, and to the last. It also prints what the line carried, how much of the
time of the guest was spent on it, and the processor time that the emulator of an idle guest takes.

It needs dash, mount and stty, which the guest gets with their libraries.

The second form measures this machine as two systems of one run, `without` and `with` a guest beside it that has booted
and does nothing, and compares them. Between the trials of `with` the emulator is stopped (SIGSTOP).
"""
import json, os, re, select, shutil, signal, statistics, struct, subprocess, sys, tempfile, time

MAGIC = b"\xf5OD\x01"
HEAD_BYTES = 12
MARK = b"\xf5MARK"
END = b"\xf5DONE"
# As long as a record flows, a byte comes within this time of the one before.
FLOW_SECONDS = 0.01
IDLE_SECONDS = 10
BOOT_SECONDS = 60


class Relay:
    """An emulator, and every piece that passed its serial line: when, which way, and what."""

    def __init__(self, command, console=None):
        pipe = subprocess.PIPE
        self.emulator = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=console)
        self.pieces = []

    def read(self):
        # Between two looks bytes gather, as where osdyno reads itself.
        time.sleep(0.0005)
        chunk = os.read(self.emulator.stdout.fileno(), 65536)
        self.pieces.append((time.monotonic(), "out", chunk))
        return chunk

    def write(self, chunk):
        self.pieces.append((time.monotonic(), "in", chunk))
        os.write(self.emulator.stdin.fileno(), chunk)


def relay(folder, command):
    """What osdyno starts as its emulator: keeps the files of the guest, and what passes the line."""
    at = command.index("-initrd") + 1
    shutil.copyfile(command[at], f"{folder}/initramfs")
    kept = command[:at] + [f"{folder}/initramfs"] + command[at + 1 :]
    json.dump(kept, open(f"{folder}/command.json", "w"))
    line = Relay(kept)
    sources = [0, line.emulator.stdout.fileno()]
    while True:
        for source in select.select(sources, [], [])[0]:
            chunk = os.read(0, 65536) if source == 0 else line.read()
            if not chunk:
                # The guest of the run holds nothing: it is killed, as osdyno does.
                line.emulator.kill()
                return line.emulator.wait()
            line.write(chunk) if source == 0 else os.write(1, chunk)
            when, way, _ = line.pieces[-1]
            with open(f"{folder}/pieces", "ab") as file:
                file.write(struct.pack("<d3sI", when, way[:3].encode(), len(chunk)) + chunk)


def beside(emulator, command):
    """The command of a system, which passes on its input and output. During its trials the emulator is at work."""
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    tell = lambda what: os.kill(emulator, what) if emulator else None
    ways = {0: child.stdin.fileno(), child.stdout.fileno(): 1}
    while True:
        for source in select.select(list(ways), [], [])[0]:
            chunk = os.read(source, 1 << 20)
            if not chunk and source != 0:
                return child.wait()
            if not chunk:
                child.stdin.close()
                del ways[0]
                continue
            if source == 0 and b'"supervise"' in chunk:
                tell(signal.SIGCONT)
            while chunk:
                wrote = os.write(ways[source], chunk)
                if source != 0 and b'"Exited"' in chunk:
                    tell(signal.SIGSTOP)
                chunk = chunk[wrote:]


def idle(words, kernel="debian:6.12", osdyno="target/release/osdyno"):
    with tempfile.TemporaryDirectory() as folder:
        boot(folder, osdyno, kernel, 1)
        guest = Relay(json.load(open(f"{folder}/command.json")), subprocess.DEVNULL)
        try:
            # Its agent has said that it is there.
            guest.read()
            time.sleep(2)
            guest.emulator.send_signal(signal.SIGSTOP)
            script = os.path.abspath(sys.argv[0])
            systems = [("without", 0), ("with", guest.emulator.pid)]
            systems = [f"--system={name}={script} beside {number}" for name, number in systems]
            subprocess.run([osdyno, "run", *words, *systems, "--out", f"{folder}/idle.osdyno"], stdout=subprocess.DEVNULL)
            subprocess.run([osdyno, "compare", f"{folder}/idle.osdyno", "--verbose"], check=False)
        finally:
            guest.emulator.kill()
            guest.emulator.wait()


def kept_pieces(folder):
    content, at, pieces = open(f"{folder}/pieces", "rb").read(), 0, []
    while at < len(content):
        when, way, length = struct.unpack_from("<d3sI", content, at)
        at += struct.calcsize("<d3sI")
        pieces.append((when, way.decode().strip("\0"), content[at : at + length]))
        at += length
    return pieces


def frames(pieces, way):
    """The frames of one direction: when the first and the last byte passed, header, body."""
    ends, stream = [], b""
    for when, direction, chunk in pieces:
        if direction == way:
            stream += chunk
            ends.append((len(stream), when))
    passed = lambda offset: next(when for end, when in ends if offset < end)
    at = 0
    while at + HEAD_BYTES <= len(stream):
        assert stream[at : at + 4] == MAGIC, stream[at : at + 40]
        (length,) = struct.unpack_from("<I", stream, at + 4)
        head, _, body = stream[at + HEAD_BYTES : at + HEAD_BYTES + length].partition(b"\n")
        yield passed(at), passed(at + HEAD_BYTES + length - 1), json.loads(head), body
        at += HEAD_BYTES + length


def ordered(pieces):
    """The order of the last trial, and for each trial the times from its order to its first and last reply."""
    begun, times, order = {}, {}, b""
    for when, _, head, body in frames(pieces, "in"):
        if "Start" in head and head["Start"]["words"] == ["supervise"]:
            begun[head["Start"]["stream"]] = when
        elif "Input" in head and head["Input"]["stream"] in begun and body:
            order = body
    for _, when, head, _ in frames(pieces, "out"):
        kind = next(iter(head)) if isinstance(head, dict) else head
        stream = head[kind].get("stream") if isinstance(head, dict) else None
        if kind in ("Output", "Packed") and stream in begun:
            first, _ = times.get(stream, (when - begun[stream], 0))
            times[stream] = (first, when - begun[stream])
    return order, list(times.values())


def flow(pieces):
    """Bytes from the guest, and the share of its time in which bytes came."""
    out = [(when, len(chunk)) for when, way, chunk in pieces if way == "out"]
    spent = sum(
        after - before for (before, _), (after, _) in zip(out, out[1:]) if after - before < FLOW_SECONDS
    )
    return sum(count for _, count in out), spent, out[-1][0] - out[0][0]


def entry(name, mode, content=b""):
    """An entry of a cpio archive: buffer-format.rst of the kernel's documentation."""
    fields = [0, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0]
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
    pad = lambda bytes: bytes + b"\0" * (-len(bytes) % 4)
    return pad(head) + pad(content)


def with_shell(initramfs, script, order):
    files = {"shell": script.encode(), "order": order}
    for program in ("dash", "mount", "stty", "sleep", "mkfifo", "cp", "mkdir"):
        path = shutil.which(program) or sys.exit(f"{program} is missing")
        files[f"tools/{program}"] = open(path, "rb").read()
        for library in re.findall(r"(/\S+) \(0x", subprocess.check_output(["ldd", path], text=True)):
            files[library.lstrip("/")] = open(library, "rb").read()
    folders = {os.path.dirname(name) for name in files} - {""}
    while True:
        more = folders | {os.path.dirname(folder) for folder in folders} - {""}
        if more == folders:
            break
        folders = more
    archive = b"".join(entry(folder, 0o40755) for folder in sorted(folders))
    archive += b"".join(entry(name, 0o100755, content) for name, content in files.items())
    archive += entry("TRAILER!!!", 0)
    with open(initramfs, "ab") as file:
        file.write(b"\0" * (-os.path.getsize(initramfs) % 512) + archive)


SCRIPT = r"""#!/tools/dash
PATH=/tools
for kind in proc:/proc devtmpfs:/dev tmpfs:/tmp sysfs:/sys; do
    mkdir -p ${kind#*:}; mount -t ${kind%:*} ${kind%:*} ${kind#*:}
done
mkdir -p /dev/shm /tmp/osdyno
mount -t tmpfs tmpfs /dev/shm
cp /osdyno/* /tmp/osdyno
exec >/dev/ttyS1
stty raw -echo <&1
mkfifo /tmp/input
# Open at both ends, so that its end does not come before that of the trial.
exec 3<>/tmp/input
n=0
while [ $n -lt TRIALS ]; do
    n=$((n + 1))
    sleep 0.1
    printf '\365MARK'
    /tmp/osdyno/osdyno-trial supervise <&3 &
    /tools/cp /order /tmp/input
    wait $!
done
printf '\365DONE'
sleep 1000
"""


def by_shell(command, folder, order, trials):
    script = SCRIPT.replace("TRIALS", str(trials))
    with_shell(f"{folder}/initramfs", script, order)
    at = command.index("-append") + 1
    console = open(f"{folder}/console", "w+b")
    line = Relay(command[:at] + ["rdinit=/shell " + command[at]] + command[at + 1 :], console)
    stream, begun, times, deadline = b"", None, [], time.monotonic() + BOOT_SECONDS + 2 * trials
    try:
        while not stream.endswith(END):
            if not select.select([line.emulator.stdout], [], [], max(0, deadline - time.monotonic()))[0]:
                sys.exit(f"the shell in the guest is late: {stream[-200:]!r} {open(console.name).read()[-500:]}")
            chunk = line.read()
            if not chunk:
                sys.exit(f"the guest with the shell has ended: {open(console.name).read()[-500:]}")
            now, before = line.pieces[-1][0], stream
            stream += chunk
            if MARK in stream[max(0, len(before) - len(MARK)) :]:
                begun = now
                times.append([None, None])
                stream = stream.rpartition(MARK)[2]
            if begun and stream and not stream.startswith(END):
                times[-1][0] = times[-1][0] or now - begun
                times[-1][1] = now - begun if not stream.endswith(END) else times[-1][1]
        seconds = lambda: sum(map(int, open(f"/proc/{line.emulator.pid}/stat").read().split()[13:15])) / 100
        before = seconds()
        time.sleep(IDLE_SECONDS)
        idle = (seconds() - before) / IDLE_SECONDS
    finally:
        line.emulator.kill()
        line.emulator.wait()
    return [tuple(each) for each in times if each[0]], idle


def row(name, values):
    low, mid, high = min(values), statistics.median(values), max(values)
    print(f"| {name} | {mid * 1e3:.0f} ms | {low * 1e3:.0f}–{high * 1e3:.0f} ms |")


def boot(folder, osdyno, kernel, trials):
    """Has osdyno measure a guest; how that was started is kept in the folder."""
    words = ["lab", "run", "--kernel", kernel, "--accel", "tcg", "--boots", "1", "noop", "-n", "60"]
    words += ["--trials", str(trials), "--out", f"{folder}/run.osdyno"]
    words += ["--qemu", f"{os.path.abspath(sys.argv[0])} relay {folder} qemu-system-x86_64"]
    subprocess.run([osdyno, *words], check=True, stdout=subprocess.DEVNULL)


def main(trials=20, kernel="debian:6.12", osdyno="target/release/osdyno"):
    with tempfile.TemporaryDirectory() as folder:
        boot(folder, osdyno, kernel, trials)
        pieces = kept_pieces(folder)
        order, by_osdyno = ordered(pieces)
        bytes, spent, whole = flow(pieces)
        shell, idle = by_shell(json.load(open(f"{folder}/command.json")), folder, order, int(trials))
    print(f"{len(by_osdyno)} and {len(shell)} trials\n\n| | median | range |\n|---|---|---|")
    row("from the order of osdyno to the first byte of a trial", [first for first, _ in by_osdyno])
    row("from the shell's start of it to the first byte", [first for first, _ in shell])
    row("from the order of osdyno to the last byte", [last for _, last in by_osdyno])
    row("from the shell's start of it to the last byte", [last for _, last in shell])
    ratio = statistics.median(f for f, _ in by_osdyno) / statistics.median(f for f, _ in shell)
    print(f"\nratio of the medians to the first byte: {ratio:.2f}")
    print(f"line: {bytes} bytes in {spent:.2f} of {whole:.1f} s, {100 * spent / whole:.1f} %")
    print(f"an idle guest takes {100 * idle:.1f} % of a processor")


if __name__ == "__main__":
    if sys.argv[1:2] == ["relay"]:
        command = sys.argv[3:]
        # osdyno asks for the version first.
        is_question = command[-1:] == ["--version"]
        sys.exit(subprocess.call(command) if is_question else relay(sys.argv[2], command))
    if sys.argv[1:2] == ["beside"]:
        sys.exit(beside(int(sys.argv[2]), sys.argv[3:]))
    idle(sys.argv[2:]) if sys.argv[1:2] == ["idle"] else main(*sys.argv[1:])
