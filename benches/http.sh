#!/usr/bin/env bash
# Compares `osdyno serve` with nginx, both under wrk, and `osdyno load` with wrk, h2load and a loop that only sends and
# receives, all on nginx. Every round measures all candidates one after the other, in rotating order. Ratios are
# computed within a round, and their median and range over the rounds are printed, so that other activity of the machine
# affects all candidates alike.
#
#   benches/http.sh [ROUNDS] [SECONDS]        needs nginx, wrk, h2load, two processors; writes Markdown to standard output
#   ONLY=generators benches/http.sh           leaves out the servers
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/.."

rounds=${1:-9}
seconds=${2:-3}
connections=50
server_cpu=0
client_cpu=1
port_nginx=18080
port_http2=18079
port_osdyno=18081

cargo build --quiet --release
cargo build --quiet --release --package net --example bare --example bare_load
osdyno=${CARGO_TARGET_DIR:-target}/release/osdyno
bare=${CARGO_TARGET_DIR:-target}/release/examples/bare
bare_load=${CARGO_TARGET_DIR:-target}/release/examples/bare_load
work=$(mktemp -d)
servers=()
finish() {
    for server in "${servers[@]}"; do kill "$server" 2>/dev/null || true; done
    wait 2>/dev/null || true
    rm -rf "$work"
}
trap finish EXIT

mkdir "$work/site"
head -c 590 /dev/zero | tr '\0' x >"$work/site/590.html"
chmod 755 "$work" "$work/site"
cat >"$work/nginx.conf" <<CONF
daemon off; master_process off; worker_processes 1; pid $work/nginx.pid; error_log stderr crit;
events { worker_connections 4096; use epoll; multi_accept on; }
http {
    access_log off; sendfile on; tcp_nopush on; tcp_nodelay on; keepalive_requests 1000000000;
    keepalive_timeout 75; open_file_cache max=1000 inactive=60s; open_file_cache_valid 60s;
    types { text/html html; }
    client_body_temp_path $work/body; proxy_temp_path $work/proxy; fastcgi_temp_path $work/fastcgi;
    uwsgi_temp_path $work/uwsgi; scgi_temp_path $work/scgi;
    server { listen 127.0.0.1:$port_nginx backlog=4096; root $work/site; }
    server { listen 127.0.0.1:$port_http2 http2 backlog=4096; root $work/site; }
}
CONF

# Starts a server and waits until it responds: NAME PORT COMMAND…
declare -A process port
start() {
    local name=$1; port[$name]=$2
    shift 2
    taskset -c $server_cpu "$@" >"$work/$name.log" 2>&1 &
    process[$name]=$!
    servers+=($!)
    for _ in $(seq 50); do
        curl -sf -o "$work/answer" "http://127.0.0.1:${port[$name]}/590.html" && break
        sleep 0.1
    done
    cmp -s "$work/answer" "$work/site/590.html" || { cat "$work/$name.log" >&2; echo "$name does not respond" >&2; exit 1; }
}

start nginx $port_nginx nginx -p "$work" -c "$work/nginx.conf"
start bare $((port_nginx - 2)) "$bare" "127.0.0.1:$((port_nginx - 2))" "$work/site/590.html"
next=$port_osdyno
for arch in ${ARCHITECTURES:-epoll epoll-et uring}; do
    start "$arch" $next "$osdyno" serve "$work/site" --arch "$arch" --listen "127.0.0.1:$next"
    next=$((next + 1))
done

# Processor time that all threads of a server have used so far, in nanoseconds.
used() { cat /proc/"$1"/task/*/schedstat | awk '{sum += $1} END {printf "%.0f", sum}'; }

# One measurement of a server under wrk: prints requests per second, nanoseconds of processor time per
# request, and the share of its processor that it used.
server() {
    local name=$1; shift
    local before after
    before=$(used "${process[$name]}")
    taskset -c $client_cpu wrk -t1 -c$connections -d"${seconds}s" "$@" \
        "http://127.0.0.1:${port[$name]}/590.html" >"$work/wrk"
    after=$(used "${process[$name]}")
    awk -v ns=$((after - before)) '/requests in/ {n = $1} /Requests\/sec/ {rate = $2} /Socket errors|Non-2xx/ {bad = 1}
        END {if (bad || n == 0) exit 1; print rate, ns / n, rate * ns / n / 1e9}' "$work/wrk"
}

# One measurement of a generator: the same figures for the generator.
generator() {
    local which=$1 url=http://127.0.0.1:${port[$2]}/590.html
    TIMEFORMAT='%U %S'
    case $which in
    wrk)
        { time taskset -c $client_cpu wrk -t1 -c$connections -d"${seconds}s" "$url" >"$work/generator"; } 2>"$work/time"
        awk '/requests in/ {n = $1} /Requests\/sec/ {print n, $2}' "$work/generator" >"$work/done" ;;
    load)
        { time taskset -c $client_cpu "$osdyno" load "$url" -c $connections -d "${seconds}s" --format csv \
            >"$work/generator"; } 2>"$work/time"
        completed >"$work/done" ;;
    bare-*)
        { time taskset -c $client_cpu "$bare_load" "${which#bare-}" "127.0.0.1:${port[$2]}" /590.html $connections \
            $seconds >"$work/done"; } 2>"$work/time" ;;
    esac
    cost
}

# One measurement of a generator with HTTP/2: STREAMS CONNECTIONS GENERATOR.
http2() {
    local streams=$1 connections=$2 url=http://127.0.0.1:$port_http2/590.html
    TIMEFORMAT='%U %S'
    case $3 in
    h2load)
        { time taskset -c $client_cpu h2load -t1 -c$connections -m$streams -D$seconds "$url" \
            >"$work/generator"; } 2>"$work/time"
        awk '/^finished in/ {rate = $4} /^requests:/ {n = $8} END {print n, rate}' "$work/generator" >"$work/done" ;;
    load)
        { time taskset -c $client_cpu "$osdyno" load --http2 --streams $streams "$url" -c $connections \
            -d "${seconds}s" --format csv >"$work/generator"; } 2>"$work/time"
        completed >"$work/done" ;;
    esac
    cost
}

# Requests and requests per second that `load` counted.
completed() {
    awk -F, 'NR == 1 {for (i = 1; i <= NF; i++) at[$i] = i} NR == 2 {print $at["completed"], $at["completed_per_second"]}' \
        "$work/generator"
}

# Requests per second, nanoseconds of processor time per request, and the share of its processor, of a generator.
cost() {
    tail -1 "$work/time" | awk -v counts="$(cat "$work/done")" '{split(counts, c, " "); ns = ($1 + $2) * 1e9 / c[1]; print c[2], ns, c[2] * ns / 1e9}'
}

# Measures all candidates in every round, in rotating order: TITLE BASE MEASURE CANDIDATE…
contest() {
    local title=$1 base=$2 measure=$3; shift 3
    local candidates=("$@") round place name
    : >"$work/contest"
    for ((round = 0; round < rounds; round++)); do
        for ((place = 0; place < ${#candidates[@]}; place++)); do
            name=${candidates[(place + round) % ${#candidates[@]}]}
            echo "$round $name $($measure "$name")" >>"$work/contest"
        done
    done
    echo
    echo "### $title"
    echo
    echo "| | requests/s | × $base | CPU time per request | × $base | processor busy |"
    echo "|---|---|---|---|---|---|"
    for name in "${candidates[@]}"; do
        awk -v name="$name" -v base="$base" '
            function sorted(values, count,   i, j, t) {
                for (i = 2; i <= count; i++) for (j = i; j > 1 && values[j] < values[j-1]; j--) {
                    t = values[j]; values[j] = values[j-1]; values[j-1] = t }
            }
            function middle(values, count) {
                sorted(values, count)
                return count % 2 ? values[(count + 1) / 2] : (values[count / 2] + values[count / 2 + 1]) / 2
            }
            $2 == base {rate[$1] = $3; cost[$1] = $4}
            $2 == name {own_rate[$1] = $3; own_cost[$1] = $4; own_busy[$1] = $5}
            END {
                for (r in own_rate) { k++; a[k] = own_rate[r]; b[k] = own_rate[r] / rate[r]; c[k] = own_cost[r]; d[k] = own_cost[r] / cost[r]; e[k] = own_busy[r] }
                printf "| %s | %.0f | ", name, middle(a, k); x = middle(b, k); printf "%.2f (%.2f–%.2f) | ", x, b[1], b[k]
                printf "%.2f µs | ", middle(c, k) / 1000; x = middle(d, k); printf "%.2f (%.2f–%.2f) | ", x, d[1], d[k]
                printf "%.0f %% |\n", 100 * middle(e, k)
            }' "$work/contest"
    done
}

archs=(${ARCHITECTURES:-epoll epoll-et uring})
closing() { server "$1" -H 'Connection: close'; }
on_nginx() { generator "$1" nginx; }
on_osdyno() { generator "$1" epoll; }
one_stream() { http2 1 $connections "$1"; }
ten_streams() { http2 10 $((connections / 10)) "$1"; }

echo "$(date -u +%Y-%m-%d) · $(uname -sr) · $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1) ·" \
    "$(nginx -v 2>&1 | sed 's/.*: //') · wrk $(wrk -v 2>&1 | sed -n 's/^wrk \([^ ]*\).*/\1/p')" \
    "· $rounds rounds of ${seconds} s, $connections connections · median (range) of the ratios within a round"
if [[ ${ONLY:-} != generators ]]; then
    contest "Servers under wrk, 590 bytes, persistent connections" nginx server nginx bare "${archs[@]}"
    contest "Servers under wrk, 590 bytes, a new connection for every request" nginx closing nginx "${archs[@]}"
fi
contest "Generators on nginx" wrk on_nginx wrk load bare-epoll bare-uring
contest "Generators on osdyno serve, where the generator is saturated" wrk on_osdyno wrk load bare-epoll bare-uring
contest "Generators on nginx, HTTP/2, one stream on each connection" h2load one_stream h2load load
contest "Generators on nginx, HTTP/2, ten streams on each of a tenth of the connections" h2load ten_streams h2load load
