#!/usr/bin/env bash
# Compares `osdyno mail` with smtp-source of Postfix, each as the client of smtp-sink, and our service `smtp` with
# smtp-sink, each as the server of smtp-source; client and server have a processor each. Messages have 1,000 bytes. Each
# round measures one after the other, in alternating order; ratios are computed within a round, and their median and range
# over the rounds are printed. How busy the processors of client and server were says which of them was the limit.
#
#   benches/mail.sh [ROUNDS] [MESSAGES]       writes Markdown to standard output; needs smtp-source and smtp-sink, which
#                                             `cargo xtask mail-servers` unpacks where they are not installed
#   OSDYNO=PROGRAM benches/mail.sh
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/.."

rounds=${1:-5}
messages=${2:-20000}

osdyno=${OSDYNO:-target/release/osdyno}
[[ -n ${OSDYNO:-} ]] || cargo build --quiet --release
command -v smtp-source >/dev/null || PATH=$PATH:$PWD/target/mail-servers/bin
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
# Its queue has room for all sessions: a connection that finds none there is tried again after a second.
taskset -c 0 smtp-sink "${as[@]}" -m 5000 127.0.0.1:2601 4000 &
servers+=($!)
taskset -c 0 "$osdyno" serve --service smtp --listen 127.0.0.1:2602 2>"$work/served" &
servers+=($!)
sleep 1

# The processor time of a server so far, in ticks of 10 ms: PORT.
ticks() {
    local server=${servers[$(($1 - 2601))]} stat
    stat=$(<"/proc/$server/stat")
    # Behind the name in brackets, utime and stime are the 12th and 13th field.
    awk '{print $12 + $13}' <<<"${stat##*)}"
}

# Messages per second, and which share of the time client and server were busy: PORT, then the command of the client.
measured() {
    local before after real user system TIMEFORMAT='%R %U %S'
    before=$(ticks "$1")
    { time taskset -c 1 "${@:2}" >"$work/out" 2>"$work/said"; } 2>"$work/time" || { cat "$work/said" >&2; exit 1; }
    after=$(ticks "$1")
    read -r real user system <"$work/time"
    awk -v messages="$messages" -v real="$real" -v client="$user $system" -v ticks=$((after - before)) 'BEGIN {
        split(client, used, " ")
        print messages / real, (used[1] + used[2]) / real, ticks / 100 / real }'
}

# Of `osdyno mail`: PORT SESSIONS, then its options. Its start counts, as that of smtp-source does.
engine() {
    measured "$1" "$osdyno" mail --relay "127.0.0.1:$1" -c "$2" --recipients "$messages" --format json "${@:3}"
}

# Of smtp-source: PORT SESSIONS, then its options.
source_rate() {
    measured "$1" smtp-source -s "$2" -m "$messages" -l 1000 "${@:3}" "127.0.0.1:$1"
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
echo "| what is compared | ours, per second | Postfix, per second | ratio | busy: client and server | and with Postfix |"
echo "|---|---|---|---|---|---|"
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
        $1 == name {
            k++
            split($2, a, " "); split($3, b, " ")
            own[k] = a[1]; other[k] = b[1]; ratio[k] = a[1] / b[1]
            own_client[k] = a[2]; own_server[k] = a[3]; other_client[k] = b[2]; other_server[k] = b[3]
        }
        END {
            if (k == 0) exit 1
            x = middle(ratio, k)
            printf "| %s | %.0f | %.0f | %.2f (%.2f–%.2f) | %.0f %%, %.0f %% | %.0f %%, %.0f %% |\n", name, middle(own, k),
                middle(other, k), x, ratio[1], ratio[k], 100 * middle(own_client, k), 100 * middle(own_server, k),
                100 * middle(other_client, k), 100 * middle(other_server, k)
        }' "$work/rates"
done
