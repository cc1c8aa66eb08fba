#!/usr/bin/env bash
# What `osdyno snoop` costs the server that it looks at: nginx, redis and `osdyno serve` under load, alternately with and
# without `osdyno snoop -p PID` beside it. For each server the ratio of a round with snoop to the one beside it, as median
# with an interval of at least 95 % (order statistics): of responses per second, and of the server's processor time for each
# response, which other programs of the machine disturb less. Server, client and snoop share the processors.
#
#   benches/snoop.sh [ROUNDS]       needs nginx, redis-server, redis-benchmark and wrk; writes Markdown
#   OSDYNO=PROGRAM benches/snoop.sh
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/.."

rounds=${1:-20}
osdyno=${OSDYNO:-target/release/osdyno}
[[ -n ${OSDYNO:-} ]] || cargo build --quiet --release
work=$(mktemp -d)
chmod 755 "$work"
servers=()
finish() {
    for server in "${servers[@]}"; do
        kill "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    done
    rm -rf "$work"
}
trap finish EXIT

echo 'hello' > "$work/index.html"
cat > "$work/nginx.conf" <<CONF
daemon off;
worker_processes 1;
pid $work/pid;
events { worker_connections 768; }
http { access_log off; keepalive_requests 100000000; server { listen 127.0.0.1:2701; root $work; } }
CONF
nginx -c "$work/nginx.conf" -e "$work/error.log" & servers+=($!)
redis-server --bind 127.0.0.1 --port 2702 --save '' --dir "$work" > /dev/null & servers+=($!)
"$osdyno" serve --arch epoll --listen 127.0.0.1:2703 "$work" > /dev/null 2>&1 & servers+=($!)
sleep 2

# Processor time of a server and its children so far, in ns.
spent() {
    local pid
    for pid in "$1" $(cat "/proc/$1/task/$1/children"); do cat "/proc/$pid/task"/*/schedstat; done |
        awk '{sum += $1} END {printf "%.0f\n", sum}'
}

# Responses per second under load for about a second: NAME PORT.
load() {
    case $1 in
        redis) redis-benchmark -p "$2" -t get -n 60000 -c 20 --csv | awk -F'"' '/GET/ {print $4}' ;;
        *) wrk -t1 -c20 -d1s "http://127.0.0.1:$2/index.html" | awk '/Requests\/sec/ {print $2}' ;;
    esac
}

# One round: NAME PORT PID WITH. Prints responses per second and ns for each response.
round() {
    local before after rate from
    from=$(date +%s%N)
    before=$(spent "$3")
    if [[ $4 = 1 ]]; then "$osdyno" snoop -p "$3" --format json > "$work/answer" & fi
    rate=$(load "$1" "$2")
    after=$(spent "$3")
    awk -v rate="$rate" -v used=$((after - before)) -v ns=$(($(date +%s%N) - from)) \
        'BEGIN {print rate, used / (rate * ns / 1e9)}'
    wait $(jobs -p | tail -1) 2>/dev/null || true
}

echo "| server | what | with snoop, as a ratio to without | at least 95 % |"
echo "|---|---|---|---|"
measure() {
    local number with without
    : > "$work/ratios"
    for number in $(seq "$rounds"); do
        if ((number % 2)); then
            with=$(round "$1" "$2" "$3" 1); without=$(round "$1" "$2" "$3" 0)
        else
            without=$(round "$1" "$2" "$3" 0); with=$(round "$1" "$2" "$3" 1)
        fi
        echo "$with $without" | awk '{print $1 / $3, $2 / $4}' >> "$work/ratios"
    done
    for what in 1 2; do
        cut -d' ' -f"$what" "$work/ratios" | sort -g | awk -v name="$1" -v what="$what" '
            {value[NR] = $1}
            END {
                # The rank below which at most 2.5 % of binomial(NR, 1/2) lies.
                term = 0.5 ^ NR; sum = 0; rank = 0
                while (sum + term <= 0.025) {sum += term; term = term * (NR - rank) / (rank + 1); rank++}
                if (rank < 1) rank = 1
                said[1] = "responses per second"; said[2] = "processor time for each response"
                median = (value[int((NR + 1) / 2)] + value[int(NR / 2) + 1]) / 2
                printf "| %s | %s | %.3f | %.3f to %.3f |\n", name, said[what], median, value[rank], value[NR + 1 - rank]
            }'
    done
}
measure nginx 2701 "${servers[0]}"
measure redis 2702 "${servers[1]}"
measure epoll 2703 "${servers[2]}"
