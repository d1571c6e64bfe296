#!/bin/sh
# A guarded read-modify-write on a Consul key: touch, add one, write. Needs curl.
# usage: STANCHION_FENCE=5 STANCHION_LEASE_ID=00000000000000aa guard.sh AGENT PATH
# Ends with 0 if written, 3 if a newer holder has been there.
set -u
here=$(dirname "$0")/..
CONSUL_HTTP_ADDR=$1 path=$2
export CONSUL_HTTP_ADDR
touched=$("$here/touch.sh" "$path")
case $? in
  0) ;;
  3) echo "refused: a newer holder (fence ${touched#refused }) has been here"; exit 3 ;;
  *) exit 1 ;;
esac
guard=${touched%% *} data=${touched#* }
count=$((${data:-0} + 1))
"$here/write.sh" "$path" "$guard" "$count" >/dev/null
case $? in
  0) echo "count is $count" ;;
  3) echo "refused: a newer holder came in between"; exit 3 ;;
  *) exit 1 ;;
esac
