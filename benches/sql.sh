#!/usr/bin/env bash
# Compares the selects by key per second that `osdyno run sql/postgresql` measures with those of pgbench (-S, prepared
# statements), with as many clients, on private servers of the same version with the same options, through Unix sockets.
# Each round measures one after the other, in alternating order; ratios are computed within a round, and their median
# and range over the rounds are printed. Both load the server as fast as it answers, so a ratio below 0.9 means that
# osdyno's client costs what it is to measure.
#
#   benches/sql.sh [ROUNDS] [SECONDS]         needs PostgreSQL with pgbench; writes Markdown to standard output
#   CLIENTS="1 8" OSDYNO=PROGRAM benches/sql.sh
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/.."

rounds=${1:-5}
seconds=${2:-2}
clients=(${CLIENTS:-1 2})
# One row for each account of pgbench's smallest table.
rows=100000
# The window of a level is divided among so many phases.
phases=12

osdyno=${OSDYNO:-target/release/osdyno}
[[ -n ${OSDYNO:-} ]] || cargo build --quiet --release
programs=$(dirname "$(find /usr/lib/postgresql /usr/pgsql* /usr/local -name initdb -path '*/bin/*' 2>/dev/null | sort | tail -1)")
work=$(mktemp -d)
server=
finish() {
    if [[ -n $server ]]; then
        kill -QUIT "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    fi
    rm -rf "$work"
}
trap finish EXIT

# PostgreSQL refuses root.
as=()
if [[ $(id -u) = 0 ]]; then
    as=(setpriv --reuid=postgres --regid=postgres --clear-groups)
    chown postgres "$work"
fi
"${as[@]}" "$programs/initdb" --auth=trust --no-sync --encoding=UTF8 --locale=C --username osdyno \
    --pgdata "$work/data" >"$work/initdb.log"
"${as[@]}" "$programs/postgres" -D "$work/data" -k "$work" -c listen_addresses= -c dynamic_shared_memory_type=mmap \
    -p 5432 >"$work/server.log" 2>&1 &
server=$!
bench=(pgbench --host "$work" --username osdyno)
for _ in $(seq 100); do
    "${bench[@]}" --initialize --quiet --scale $((rows / 100000)) postgres >"$work/fill.log" 2>&1 && break
    sleep 0.1
done
tail -1 "$work/fill.log" | grep -q '^done' || { cat "$work/server.log" "$work/fill.log" >&2; exit 1; }

# Selects per second: CLIENTS.
pgbench_rate() {
    "${bench[@]}" --select-only --protocol prepared --no-vacuum --client "$1" --jobs "$1" --time "$seconds" postgres \
        2>"$work/said" | awk '/^tps =/ {print $3; found = 1} END {exit !found}' || { cat "$work/said" >&2; exit 1; }
}
osdyno_rate() {
    "$osdyno" run sql/postgresql -n "$1" --trials 1 --set rows=$rows --window "$((seconds * phases))s" --timeout 10m \
        --out "$work/run.osdyno" >"$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }
    "$osdyno" export "$work/run.osdyno" --format csv |
        awk -F, -v n="$1" '$4 == "rate" && $7 == n {print $8; found = 1} END {exit !found}'
    rm "$work"/run.*
}

for ((round = 0; round < rounds; round++)); do
    for count in "${clients[@]}"; do
        if ((round % 2)); then
            own=$(osdyno_rate "$count"); other=$(pgbench_rate "$count")
        else
            other=$(pgbench_rate "$count"); own=$(osdyno_rate "$count")
        fi
        echo "$count $own $other"
    done
done >"$work/rates"

echo "$(date -u +%Y-%m-%d) · $(uname -sr) · $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1) · $("$programs/postgres" --version)" \
    "· $rounds rounds of ${seconds} s · median (range) of the ratios within a round"
echo
echo "| clients | osdyno, selects/s | pgbench, selects/s | osdyno ÷ pgbench |"
echo "|---|---|---|---|"
for count in "${clients[@]}"; do
    awk -v count="$count" '
        function sorted(values, count,   i, j, t) {
            for (i = 2; i <= count; i++) for (j = i; j > 1 && values[j] < values[j-1]; j--) {
                t = values[j]; values[j] = values[j-1]; values[j-1] = t }
        }
        function middle(values, count) {
            sorted(values, count)
            return count % 2 ? values[(count + 1) / 2] : (values[count / 2] + values[count / 2 + 1]) / 2
        }
        $1 == count {k++; own[k] = $2; other[k] = $3; ratio[k] = $2 / $3}
        END {
            if (k == 0) exit 1
            x = middle(ratio, k)
            printf "| %d | %.0f | %.0f | %.2f (%.2f–%.2f) |\n", count, middle(own, k), middle(other, k), x, ratio[1], ratio[k]
        }' "$work/rates"
done
