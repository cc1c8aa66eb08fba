#!/usr/bin/env bash
# What the references of a trial do to the level of what is measured: each round measures socket and noop once with
# references and once without, in alternating order. The median cost of each is compared within the round.
#
#   benches/references.sh [ROUNDS]        writes Markdown to standard output
#
# The interval is one of 90 %, as two one-sided tests at 5 % ask for: they are equivalent within 2 % if all of it lies
# between 0.98 and 1.02.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/.."

rounds=${1:-100}
osdyno=${OSDYNO:-target/release/osdyno}
[[ -n ${OSDYNO:-} ]] || cargo build --quiet --release
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# One trial: NAME OPTION…
measure() {
    local name=$1; shift
    "$osdyno" run noop socket/v4 -n 10000 --trials 1 "$@" --out "$work/$name.osdyno" >"$work/log" 2>&1 ||
        { cat "$work/log" >&2; exit 1; }
    # The first hundred are cold.
    "$osdyno" export "$work/$name.osdyno" --format csv |
        awk -F, '$5 == "up" && $7 >= 100 && ($4 == "noop" || $4 == "socket") {print $4, $8}' >"$work/values"
    for series in noop socket; do
        awk -v series=$series '$1 == series {print $2}' "$work/values" | sort -g |
            awk -v series=$series -v name="$name" '{value[NR] = $1} END {
                if (NR == 0) exit 1
                print name, series, (value[int((NR + 1) / 2)] + value[int(NR / 2) + 1]) / 2}'
    done
    rm "$work/$name".*
}

for ((round = 0; round < rounds; round++)); do
    # Alternating, so that what changes with time meets both.
    if ((round % 2)); then measure with; measure without --no-references; else measure without --no-references; measure with; fi
done >"$work/levels"

echo "$(date -u +%Y-%m-%d) · $(uname -sr) · $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1) · $rounds rounds"
echo
echo "| | with, ns | without, ns | ratio (90 % interval) |"
echo "|---|---|---|---|"
for series in noop socket; do
    awk -v series=$series '$2 == series {
            if ($1 == "with") {with[++w] = log($3); a += $3} else {without[++o] = log($3); b += $3}
        }
        END {
            for (i = 1; i <= w; i++) {d = with[i] - without[i]; sum += d; squares += d * d}
            mean = sum / w; error = sqrt((squares / w - mean * mean) / (w - 1))
            printf "| %s | %.1f | %.1f | %.3f (%.3f–%.3f) |\n", series, a / w * 1e9, b / o * 1e9,
                exp(mean), exp(mean - 1.66 * error), exp(mean + 1.66 * error)
        }' "$work/levels"
done
