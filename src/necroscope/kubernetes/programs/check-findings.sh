#!/bin/sh
# Does one of these findings stand, by the recorder's own word? A plug-in for node-problem-detector.
#
#   check-findings.sh FILE MUST_LOOK FINDING...
#
# FILE is what `necroscope record --textfile FILE` writes. Without the finding MUST_LOOK nobody has looked.
# Exit: 0 none stands, 1 one does (warning or critical), 2 it cannot be told. One line of 80 characters or fewer.
# Needs sh, grep and date.

OLDEST_SECONDS=900

unknown() {
  echo "unknown: $1"
  exit 2
}

file=$1
must_look=$2
[ "$#" -ge 3 ] || unknown "say which file and which findings"
shift 2
[ -r "$file" ] || unknown "there is no textfile of a recorder"

examined=$(grep '^necroscope_findings_examined_timestamp_seconds ' "$file") || unknown "nothing was examined yet"
examined=${examined##* }
examined=${examined%%.*}
case $examined in '' | *[!0-9]*) unknown "when it was examined is not a number" ;; esac
age=$(($(date +%s) - examined))
[ "$age" -le "$OLDEST_SECONDS" ] || unknown "last examined $age s ago"

grep -q "^necroscope_findings_active{finding=\"$must_look\"," "$file" || unknown "not looked for: $must_look"
for severity in critical warning; do
  for finding in "$@"; do
    series="necroscope_findings_active{finding=\"$finding\",severity=\"$severity\"} "
    if grep -F "$series" "$file" | grep -qv ' 0$'; then
      echo "$severity: $finding"
      exit 1
    fi
  done
done
echo "none of: $*" | cut -c 1-80
