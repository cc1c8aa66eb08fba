#!/usr/bin/env python3
"""What `osdyno snoop` costs the server that it looks at: nginx, redis or `osdyno serve` under load by one client.

Windows of two seconds, in the order with, without, without, with; in those with it, `osdyno snoop -p PID` runs again and
again. Each four windows give one ratio (geometric means), and the table has the mean of their logarithms with an interval
of 95 % (Student). Server, client and snoop share the processors, and the machine disturbs responses per second by more
than snoop does. So there is also what snoop could make more of, the processor time of the server for each response, and
what it takes for itself: its processor time for each second of its watch, with everything from its start to its end.
Together they bound what it costs: a server that has less to do for each response, and a machine that has that much less.

    benches/snoop.py nginx|redis|epoll [ROUNDS] [FILE]     needs nginx and wrk, or redis; writes Markdown
    OSDYNO=PROGRAM benches/snoop.py …

FILE holds the windows, one a line: those of this time are added, and the table is of all.
"""
import math, os, re, shutil, signal, statistics, subprocess, sys, tempfile, threading, time

WINDOW = 2.0
PORT = 2701
# Of Student's distribution, 97.5 %, for so many degrees of freedom; between them the larger is taken.
STUDENT = [(1, 12.71), (2, 4.303), (3, 3.182), (4, 2.776), (5, 2.571), (7, 2.365), (9, 2.262), (14, 2.145), (19, 2.093),
           (29, 2.045), (39, 2.023), (59, 2.001), (99, 1.984), (199, 1.972)]

osdyno = os.path.abspath(os.environ.get("OSDYNO", "target/release/osdyno"))


def serve(name, folder):
    """Starts the server, as a daemon that no process is above. Returns its number."""
    if name == "nginx":
        with open(f"{folder}/nginx.conf", "w") as file:
            file.write(f"daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/log;\n"
                       "events { worker_connections 768; }\nhttp { access_log off; keepalive_requests 100000000;\n"
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


def spent(pid):
    """Processor time of the server and its children so far, in seconds."""
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        pids = [str(pid), *file.read().split()]
    total = 0
    for one in pids:
        for task in os.listdir(f"/proc/{one}/task"):
            with open(f"/proc/{one}/task/{task}/schedstat") as file:
                total += int(file.read().split()[0])
    return total / 1e9


def load(name, count):
    """Loads it for about a window: responses, and responses per second."""
    if name == "redis":
        began = time.monotonic()
        subprocess.run(["redis-benchmark", "-p", str(PORT), "-t", "get", "-n", str(count), "-c", "20", "--csv"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return count, count / (time.monotonic() - began)
    command = ["wrk", "-t1", "-c20", f"-d{WINDOW:.0f}s", f"http://127.0.0.1:{PORT}/index.html"]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "Non-2xx" not in told and "Socket errors" not in told, told
    return int(re.search(r"(\d+) requests in", told)[1]), float(re.search(r"Requests/sec: *([\d.]+)", told)[1])


def snoop_until(is_over, pid, used):
    """Runs snoop again and again, and notes its processor time and how long it took."""
    while not is_over.is_set():
        began = time.monotonic()
        child = subprocess.Popen([osdyno, "snoop", "-p", str(pid), "--format", "json"], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        # 3 is an answer that is not complete: a server that is busy at each look may not show how it waits.
        assert child.returncode in (0, 3), "snoop failed"
        used.append((usage.ru_utime + usage.ru_stime, time.monotonic() - began))


def window(name, pid, count, is_with):
    is_over, used = threading.Event(), []
    watcher = threading.Thread(target=snoop_until, args=(is_over, pid, used))
    before = spent(pid)
    if is_with:
        watcher.start()
    responses, rate = load(name, count)
    cost = (spent(pid) - before) / responses
    is_over.set()
    if is_with:
        watcher.join()
    share = sum(cpu for cpu, _ in used) / sum(wall for _, wall in used) if used else 0.0
    return rate, cost, share


def interval(values):
    """Mean with an interval of 95 %."""
    mean, freedom = statistics.mean(values), len(values) - 1
    factor = [student for degrees, student in STUDENT if degrees <= freedom][-1] if freedom else math.inf
    half = factor * statistics.stdev(values) / math.sqrt(len(values)) if freedom else math.inf
    return mean, mean - half, mean + half


def table(name, windows):
    rounds = [windows[place:place + 4] for place in range(0, len(windows) - 3, 4)]
    def ratios(column):
        return [(math.log(a[column]) - math.log(b[column]) - math.log(c[column]) + math.log(d[column])) / 2
                for a, b, c, d in rounds]
    rows = [(what, *(f"{math.exp(value):.4f}" for value in interval(ratios(column))))
            for column, what in enumerate(["responses per second, ratio", "processor time for each response, ratio"])]
    shares = [(a[2] + d[2]) / 2 for a, _, _, d in rounds]
    rows.append(("snoop itself, of one processor", *(f"{value * 100:.2f} %" for value in interval(shares))))
    print("| server | what, with snoop to without | mean | 95 % | rounds |\n|---|---|---|---|---|")
    for what, mean, low, high in rows:
        print(f"| {name} | {what} | {mean} | {low} to {high} | {len(rounds)} |")


def main():
    name, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20
    raw = sys.argv[3] if len(sys.argv) > 3 else None
    folder = tempfile.mkdtemp()
    os.chmod(folder, 0o755)
    with open(f"{folder}/index.html", "w") as file:
        file.write("hello\n")
    server = serve(name, folder)
    # What ends this ends the server too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    windows = []
    try:
        count = int(load(name, 20000)[1] * WINDOW)
        load(name, count)
        for _ in range(rounds):
            windows += [window(name, server.pid, count, is_with) for is_with in (True, False, False, True)]
            if raw:
                with open(raw, "a") as file:
                    file.writelines(" ".join(map(repr, one)) + "\n" for one in windows[-4:])
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(folder)
    if raw:
        with open(raw) as file:
            windows = [tuple(map(float, line.split())) for line in file]
    table(name, windows)


main()
