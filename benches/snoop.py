#!/usr/bin/env python3
"""What `osdyno snoop` costs the server that it looks at: nginx, redis or `osdyno serve`, under load by one client.

A look reads the same things however long it takes, so the machine serves less by so much for each look. Here each look is
short, which makes its share of the time large and seen soon: slots of a quarter of a second, in the order with, without,
without, with, beside one load that never stops. How much was served in a slot is what the kernel counts of TCP (OutSegs
in /proc/net/snmp). Four slots are a round and give one ratio (of sums); the table has the mean over the rounds with an
interval of 95 % (Student), as the time for which a look holds responses up, and as a share of what a look takes by
default. It includes what this script does to start the program.

    benches/snoop.py nginx|redis|epoll [ROUNDS] [FILE]     needs nginx and wrk, or redis; writes Markdown
    OSDYNO=PROGRAM benches/snoop.py …
    TIME_WAIT=50000 benches/snoop.py …                     beside so many connections that have ended, for 40 rounds at most

FILE holds the slots, one a line: those of this time are added, and the table is of all.
"""
import math, os, re, shutil, signal, socket, statistics, subprocess, sys, tempfile, time

SLOT_SECONDS = 0.25
LOOK = "200ms"
PORT = 2701
# Of Student's distribution, 97.5 %, for so many degrees of freedom; between them the larger is taken.
STUDENT = [(1, 12.71), (2, 4.303), (3, 3.182), (4, 2.776), (5, 2.571), (7, 2.365), (9, 2.262), (14, 2.145), (19, 2.093),
           (29, 2.045), (39, 2.023), (59, 2.001), (99, 1.984), (199, 1.972)]

osdyno = os.path.abspath(os.environ.get("OSDYNO", "target/release/osdyno"))


def serve(name, folder):
    """Starts the server, as a daemon that no process is above."""
    if name == "nginx":
        with open(f"{folder}/nginx.conf", "w") as file:
            file.write(f"daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/log;\n"
                       "events { worker_connections 768; }\nhttp { access_log off; keepalive_requests 1000000000;\n"
                       f"server {{ listen 127.0.0.1:{PORT}; root {folder}; }} }}\n")
        command = ["nginx", "-e", f"{folder}/log", "-c", f"{folder}/nginx.conf"]
    elif name == "redis":
        command = ["redis-server", "--bind", "127.0.0.1", "--port", str(PORT), "--save", "", "--dir", folder]
    else:
        command = [osdyno, "serve", "--arch", "epoll", "--listen", f"127.0.0.1:{PORT}", folder]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    time.sleep(2)
    assert server.poll() is None, f"{command[0]} has ended; is port {PORT} in use?"
    return server


def load(name, seconds):
    """A client that loads it for at least so long."""
    if name == "redis":
        command = ["redis-benchmark", "-p", str(PORT), "-t", "get", "-n", str(2_000_000_000), "-c", "20", "-q"]
    else:
        command = ["wrk", "-t1", "-c20", f"-d{seconds:.0f}s", f"http://127.0.0.1:{PORT}/index.html"]
    # redis-benchmark writes its progress without end.
    output = subprocess.DEVNULL if name == "redis" else subprocess.PIPE
    return subprocess.Popen(command, stdout=output, stderr=subprocess.DEVNULL, text=True)


def leave_in_time_wait(count):
    """Opens and closes so many connections, which the kernel keeps for a minute."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        for number in range(count):
            # One address has too few ports.
            source = f"127.0.0.{2 + number % 5}", 0
            with socket.create_connection(listener.getsockname(), source_address=source):
                listener.accept()[0].close()


def segments_sent():
    with open("/proc/net/snmp") as file:
        names, values = [line.split() for line in file if line.startswith("Tcp:")]
    return int(values[names.index("OutSegs")])


def slot(pid, is_with):
    """Segments per second, the processor time of the look, and how long the slot was."""
    before, began, used = segments_sent(), time.monotonic(), 0.0
    if is_with:
        quiet = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
        words = [osdyno, "snoop", "-p", str(pid), "--duration", LOOK, "--format", "json"]
        child = os.posix_spawn(osdyno, words, os.environ, file_actions=[quiet])
    time.sleep(SLOT_SECONDS)
    if is_with:
        # One that did not get the processor holds the slot open: the whole look is in it.
        _, status, usage = os.wait4(child, 0)
        # 3 is an answer that is not complete: a server that is busy at each look may not show how it waits.
        assert os.waitstatus_to_exitcode(status) in (0, 3), "snoop failed"
        used = usage.ru_utime + usage.ru_stime
    elapsed = time.monotonic() - began
    return (segments_sent() - before) / elapsed, used, elapsed


def interval(values):
    """Mean with an interval of 95 %."""
    mean, freedom = statistics.mean(values), len(values) - 1
    factor = [student for degrees, student in STUDENT if degrees <= freedom][-1] if freedom else math.inf
    half = factor * statistics.stdev(values) / math.sqrt(len(values)) if freedom else math.inf
    return mean, mean - half, mean + half


def default_look_seconds():
    printed = subprocess.run([osdyno, "snoop", "--help"], check=True, capture_output=True, text=True).stdout
    return float(re.search(r"--duration.*?\[default: (\d+)s\]", printed, re.DOTALL)[1])


def table(name, slots):
    rounds = [slots[place:place + 4] for place in range(0, len(slots) - 3, 4)]
    held_up = interval([(1 - (a[0] + d[0]) / (b[0] + c[0])) * (a[2] + d[2]) / 2 for a, b, c, d in rounds])
    used = interval([(a[1] + d[1]) / 2 for a, _, _, d in rounds])
    look = default_look_seconds()
    print("| server | what a look costs | mean | 95 % | rounds |\n|---|---|---|---|---|")
    for what, (mean, low, high), factor, unit in [
        ("it responds as if it stood still for", held_up, 1e3, "ms"),
        (f"of the {look:.0f} s that a look takes, that is", held_up, 100 / look, "%"),
        ("processor time of `snoop`", used, 1e3, "ms"),
    ]:
        print(f"| {name} | {what} | {mean * factor:.2f} {unit} | {low * factor:.2f} to {high * factor:.2f} {unit} "
              f"| {len(rounds)} |")


def main():
    name, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 60
    raw = sys.argv[3] if len(sys.argv) > 3 else None
    folder = tempfile.mkdtemp()
    os.chmod(folder, 0o755)
    with open(f"{folder}/index.html", "w") as file:
        file.write("hello\n")
    # What ends this ends the server too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    server, client, slots = serve(name, folder), None, []
    try:
        client = load(name, 30 + rounds * 4 * SLOT_SECONDS * 2)
        time.sleep(2)
        leave_in_time_wait(int(os.environ.get("TIME_WAIT", "0")))
        for _ in range(rounds):
            assert client.poll() is None, "the client has ended"
            slots += [slot(server.pid, is_with) for is_with in (True, False, False, True)]
            if raw:
                with open(raw, "a") as file:
                    file.writelines(" ".join(map(repr, one)) + "\n" for one in slots[-4:])
        # wrk reports what it did when it is interrupted.
        client.send_signal(signal.SIGINT)
        report, _ = client.communicate()
        assert name == "redis" or "Requests/sec" in report, "the client reports nothing"
        assert "Non-2xx" not in (report or "") and "Socket errors" not in (report or ""), report
    finally:
        for process in filter(None, (client, server)):
            process.terminate()
            process.wait()
        shutil.rmtree(folder)
    if raw:
        with open(raw) as file:
            slots = [tuple(map(float, line.split())) for line in file]
    table(name, slots)


main()
