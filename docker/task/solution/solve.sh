#!/bin/bash
# The oracle: it makes the calls of plan.tsv against the chart server, follows every cursor, and cites rows
# that it was served, or the searches where the requirement is an absence. Needs bash, curl, grep and sed.
# It leaves its calls as a trajectory in ATIF, as agents do. MIMIC_URL, REPORT and TRAJECTORY name another
# server and other files to write.
set -euo pipefail

url=${MIMIC_URL:-http://mimic:8000/mcp}
report=${REPORT:-/workspace/report.md}
trajectory=${TRAJECTORY:-/logs/agent/trajectory.json}
plan=$(dirname "$0")/plan.tsv
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
number=0

# field NAME FILE: the first value of a text field of the structured answer; empty if it is null
field() {
  grep -o "\"$1\": *\"[^\"]*\"" "$2" | head -n 1 | sed 's/.*: *"//; s/"$//' || true
}

# call TOOL ARGUMENTS: one call, its answer in $work/answer
call() {
  number=$((number + 1))
  printf ',\n{"step_id":%d,"source":"agent","message":"","tool_calls":[{"tool_call_id":"call-%d","function_name":"%s","arguments":%s}]}' \
    $((number + 1)) "$number" "$1" "$2" >>"$work/steps"
  printf '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s","arguments":%s}}' \
    "$number" "$1" "$2" >"$work/request"
  curl -sS --fail -m 60 -X POST "$url" -H 'content-type: application/json' \
    -H 'accept: application/json, text/event-stream' --data-binary "@$work/request" >"$work/answer"
  if grep -q '"isError": *true\|"error": *{' "$work/answer"; then
    echo "the call of $1 failed: $(head -c 500 "$work/answer")" >&2
    exit 1
  fi
}

# search REQUIREMENT TOOL ARGUMENTS: read to the last page; remember the served rows and the last call
search() {
  local arguments=$3 cursor
  while true; do
    call "$2" "$arguments"
    grep -o '"eid": *"[^"]*"' "$work/answer" | sed 's/.*: *"//; s/"$//' >>"$work/served" || true
    cursor=$(field next_cursor "$work/answer")
    [ -n "$cursor" ] || break
    arguments=$(printf '%s' "$3" | sed "s|}\$|,\"cursor\":\"$cursor\"}|; s|^{,|{|")
  done
  field call "$work/answer" >>"$work/searches.$1"
}

# cite REQUIREMENT ID…: add a sentence, unless something was cited for the requirement before
cite() {
  local name=${1//_/ } ids=${*:2}
  [ -e "$work/cited.$1" ] && return
  touch "$work/cited.$1"
  printf -- '- %s: [%s]\n' "$name" "${ids// /, }" >>"$work/body"
}

touch "$work/served" "$work/body" "$work/steps"
while IFS=$'\t' read -r what requirement first rest; do
  case $what in
    search) search "$requirement" "$first" "$rest" ;;
    rows)
      whole=yes
      for eid in $first; do grep -qxF "$eid" "$work/served" || whole=no; done
      # shellcheck disable=SC2086
      if [ $whole = yes ]; then cite "$requirement" $first; fi
      ;;
    absence)
      # shellcheck disable=SC2046
      if [ -e "$work/searches.$requirement" ]; then cite "$requirement" $(sort -u "$work/searches.$requirement"); fi
      ;;
    verdict) verdict=$requirement ;;
  esac
done <"$plan"

{
  printf '## Answer: %s\n\n' "$verdict"
  cat "$work/body"
} >"$report"

{
  printf '{"schema_version":"ATIF-v1.8","session_id":"solution","agent":{"name":"oracle","version":"@@VERSION@@"},\n"steps":[\n'
  printf '{"step_id":1,"source":"user","message":"make the calls of plan.tsv"}'
  cat "$work/steps"
  printf '],\n"final_metrics":{"total_steps":%d}}\n' $((number + 1))
} >"$trajectory"
