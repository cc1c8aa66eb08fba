#!/usr/bin/env bash
# Compares the jobs on files with a bare C loop of the same calls, with fio and fs_mark, and `tree` with tar. Every round
# measures all of them one after the other, in rotating order and in the same folder; ratios are computed within a round,
# and their median and quartiles over the rounds are printed. The ratio of the least values of all rounds is beside
# them: on a machine that does other work, it is disturbed least.
#
#   benches/files.sh [ROUNDS] [FOLDER]        needs cc, fio, fs_mark, tar; writes Markdown to standard output
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/.."

rounds=${1:-20}
files=10000
osdyno=${OSDYNO:-target/release/osdyno}
[[ -n ${OSDYNO:-} ]] || cargo build --quiet --release
work=$(mktemp -d -p "${2:-${TMPDIR:-/tmp}}")
trap 'rm -rf "$work"' EXIT
mkdir "$work/files"
cc -O2 -o "$work/bare" benches/files.c

# The archive that both unpack: half as many small files as large ones, twelve in a folder.
mkdir "$work/source"
for ((i = 0; i < files; i++)); do
    folder=$work/source/$((i / 12))
    ((i % 12)) || mkdir "$folder"
    head -c $(((i * 7919 % 5 + 1) * 1700)) /dev/zero | tr '\0' 'a' >"$folder/$i"
done
tar cf "$work/source.tar" -C "$work" source
rm -r "$work/source"

# Appends a line: ROUND WHAT SECONDS.
note() { echo "$round $1 $2" >>"$work/values"; }

run_osdyno() {
    rm -f "$work"/run.*
    "$osdyno" run small-files/warm -n 4 --trials 1 --window 2s --set files=$files --scratch "$work/files" \
        --out "$work/run.osdyno" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
    "$osdyno" export "$work/run.osdyno" --format csv | awk -F, '$7 == 4 {print $4, $8}' >"$work/osdyno"
    while read -r name value; do note "osdyno-$name" "$value"; done <"$work/osdyno"
}
run_bare() {
    # As deep as the folder of a trial, for the kernel looks up each part of a path.
    local folder=$work/files/osdyno-0123456789abcdef/small-files
    mkdir -p "$folder"
    "$work/bare" "$folder" $files 4 >"$work/calls"
    while read -r name value; do note "bare-$name" "$value"; done <"$work/calls"
    rm -r "${folder%/*}"
}
run_fio() {
    mkdir "$work/files/fio"
    for call in create stat delete; do
        fio --name=fio --ioengine=file$call --directory="$work/files/fio" --nrfiles=$files --filesize=4k \
            --openfiles=1 --file_service_type=sequential --output-format=json >"$work/fio.json"
        note "fio-$call" "$(awk '/"clat_ns"/ {seen = 1} seen && /"mean"/ {printf "%.9f", $3 / 1e9; exit}' "$work/fio.json")"
    done
    rm -r "$work/files/fio"
}
run_fs_mark() {
    mkdir "$work/files/fs_mark"
    # Its log lies where it runs, and it takes no path of 40 characters.
    (cd "$work/files" && fs_mark -d fs_mark -l ../fs_mark.log -s 4096 -n $files -S 0 -v -t 1) >"$work/fs_mark"
    # Columns come in threes: least, mean and most microseconds of each call.
    awk '/^ *[0-9]+ +[0-9]+ +4096/ {print "create", $7 / 1e6; print "write", $10 / 1e6; print "unlink", $22 / 1e6}' \
        "$work/fs_mark" >"$work/calls"
    while read -r name value; do note "fs_mark-$name" "$value"; done <"$work/calls"
    rm -r "$work/files/fs_mark"
}
run_tree() {
    rm -f "$work"/run.*
    "$osdyno" run tree -n $files --set tar="$work/source.tar" --trials 1 --scratch "$work/files" \
        --out "$work/run.osdyno" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
    note tree "$("$osdyno" export "$work/run.osdyno" --format csv |
        awk -F, -v n=$files '$4 == "unpack" && $7 == n {print $8 * n}')"
}
run_tar() {
    mkdir "$work/files/tar"
    local begun=$EPOCHREALTIME
    tar xf "$work/source.tar" -C "$work/files/tar"
    note tar "$(awk -v a="$begun" -v b="$EPOCHREALTIME" 'BEGIN {printf "%.6f", b - a}')"
    rm -r "$work/files/tar"
}

candidates=(osdyno bare fio fs_mark tree tar)
for ((round = 0; round < rounds; round++)); do
    for ((i = 0; i < ${#candidates[@]}; i++)); do
        sync -f "$work"
        "run_${candidates[(round + i) % ${#candidates[@]}]}"
    done
done

echo "$(date -u +%Y-%m-%d) · $(uname -sr) · $(stat -f -c %T "$work") · $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1) · $rounds rounds"
echo
echo "| | first, µs | second, µs | ratio (quartiles) | of the least |"
echo "|---|---|---|---|---|"
# NAME FIRST SECOND: medians, and the ratio within each round.
row() {
    awk -v a="$2" -v b="$3" '$2 == a {x[$1] = $3} $2 == b {y[$1] = $3}
        END {for (round in x) if (y[round] > 0) print x[round], y[round], x[round] / y[round]}' "$work/values" >"$work/pairs"
    local column
    for column in 1 2 3; do
        cut -d' ' -f$column "$work/pairs" | sort -g |
            awk '{v[NR] = $1} END {print v[int((NR + 3) / 4)], v[int((NR + 1) / 2)], v[int((3 * NR + 3) / 4)], v[1]}'
    done | awk -v name="$1" '{low[NR] = $1; mid[NR] = $2; high[NR] = $3; least[NR] = $4}
        END {printf "| %s | %.2f | %.2f | %.3f (%.3f–%.3f) | %.3f |\n", name, mid[1] * 1e6, mid[2] * 1e6,
            mid[3], low[3], high[3], least[1] / least[2]}'
}
row "six calls of a file: osdyno / bare C" osdyno-total bare-total
row "create: osdyno / bare C" osdyno-create bare-create
row "create: osdyno / fio filecreate" osdyno-create fio-create
row "create after stat(2) of the name: bare C / fio filecreate" bare-found fio-create
row "stat: osdyno / fio filestat" osdyno-stat fio-stat
row "unlink: osdyno / fio filedelete" osdyno-unlink fio-delete
row "create: osdyno / fs_mark" osdyno-create fs_mark-create
row "create with names of 40 bytes: bare C / fs_mark" bare-long fs_mark-create
row "write: osdyno / fs_mark" osdyno-write fs_mark-write
row "unlink: osdyno / fs_mark" osdyno-unlink fs_mark-unlink
row "unlink in the order of creation: bare C / fs_mark" bare-unlink fs_mark-unlink
row "archive unpacked: tree / tar xf" tree tar
