#!/usr/bin/env bash
# Compares `osdyno mail` with smtp-source of Postfix, each as the client of smtp-sink, and our service `smtp` with
# smtp-sink, each as the server of smtp-source; client and server have a processor each. Messages have 1,000 bytes. Each
# round measures one after the other, in alternating order; ratios are computed within a round, and their median and range
# over the rounds are printed.
#
#   benches/mail.sh [ROUNDS] [MESSAGES]       needs smtp-source and smtp-sink; writes Markdown to standard output
#   OSDYNO=PROGRAM benches/mail.sh
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/.."

rounds=${1:-5}
messages=${2:-20000}

osdyno=${OSDYNO:-target/release/osdyno}
[[ -n ${OSDYNO:-} ]] || cargo build --quiet --release
work=$(mktemp -d)
servers=()
finish() {
    for server in "${servers[@]}"; do
        kill "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    done
    rm -rf "$work"
}
trap finish EXIT
ulimit -n "$(ulimit -Hn)"

as=()
[[ $(id -u) != 0 ]] || as=(-u nobody)
taskset -c 0 smtp-sink "${as[@]}" -m 5000 127.0.0.1:2601 1000 &
servers+=($!)
taskset -c 0 "$osdyno" serve --service smtp --listen 127.0.0.1:2602 2>"$work/served" &
servers+=($!)
sleep 1

# Deliveries per second of `osdyno mail`: PORT SESSIONS, then its options.
engine() {
    taskset -c 1 "$osdyno" mail --relay "127.0.0.1:$1" -c "$2" --recipients "$messages" --format json "${@:3}" \
        2>"$work/said" | sed 's/.*"delivered_per_second":\([0-9.]*\).*/\1/' || { cat "$work/said" >&2; exit 1; }
}

# Messages per second of smtp-source: PORT SESSIONS, then its options.
source_rate() {
    local from
    from=$(date +%s%N)
    taskset -c 1 smtp-source -s "$2" -m "$messages" -l 1000 "${@:3}" "127.0.0.1:$1"
    awk -v messages="$messages" -v ns=$(($(date +%s%N) - from)) 'BEGIN {print messages * 1e9 / ns}'
}

# One line for each pair of rates: NAME, OWN command, OTHER command.
pair() {
    local own other
    if ((round % 2)); then
        own=$($2); other=$($3)
    else
        other=$($3); own=$($2)
    fi
    echo "$1|$own|$other"
}

for ((round = 0; round < rounds; round++)); do
    for sessions in 20 1500; do
        pair "client, a connection for each message, $sessions sessions" \
            "engine 2601 $sessions --deliver --per-connection 1" "source_rate 2601 $sessions"
        pair "client, kept connections, $sessions sessions" \
            "engine 2601 $sessions --deliver --per-connection 1000000" "source_rate 2601 $sessions -d"
    done
    pair "client, test mode pipelined, against messages of smtp-source on kept connections; our server" \
        "engine 2602 20 --pipeline --per-connection 1000000" "source_rate 2602 20 -d"
    pair "server, a connection for each message, 20 sessions of smtp-source" "source_rate 2602 20" "source_rate 2601 20"
    pair "server, kept connections, 20 sessions of smtp-source" "source_rate 2602 20 -d" "source_rate 2601 20 -d"
done >"$work/rates"

echo "$(date -u +%Y-%m-%d) · $(uname -sr) · $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1) · $rounds rounds of" \
    "$messages messages · median (range) of the ratios within a round"
echo
echo "| what is compared | ours, per second | Postfix, per second | ratio |"
echo "|---|---|---|---|"
cut -d'|' -f1 "$work/rates" | awk '!seen[$0]++' | while read -r name; do
    awk -F'|' -v name="$name" '
        function sorted(values, count,   i, j, t) {
            for (i = 2; i <= count; i++) for (j = i; j > 1 && values[j] < values[j-1]; j--) {
                t = values[j]; values[j] = values[j-1]; values[j-1] = t }
        }
        function middle(values, count) {
            sorted(values, count)
            return count % 2 ? values[(count + 1) / 2] : (values[count / 2] + values[count / 2 + 1]) / 2
        }
        $1 == name {k++; own[k] = $2; other[k] = $3; ratio[k] = $2 / $3}
        END {
            if (k == 0) exit 1
            x = middle(ratio, k)
            printf "| %s | %.0f | %.0f | %.2f (%.2f–%.2f) |\n", name, middle(own, k), middle(other, k), x, ratio[1], ratio[k]
        }' "$work/rates"
done
