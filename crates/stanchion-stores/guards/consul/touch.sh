#!/bin/sh
# Raises the fence of PATH to your token and reads, in one transaction.
# usage: STANCHION_FENCE=5 STANCHION_LEASE_ID=00000000000000aa touch.sh PATH
# Prints the guard (hand it to write.sh) and the value. Ends with 3 and the floor if a newer holder has been here.
set -eu
path=$1
agent=${CONSUL_HTTP_ADDR:-http://127.0.0.1:8500}
case $STANCHION_FENCE$STANCHION_LEASE_ID in *[!0-9a-f]* | '') echo 'a token is a number and 16 hex digits' >&2; exit 2 ;; esac

ask() { curl --silent --show-error --max-time 10 --header "X-Consul-Token: ${CONSUL_HTTP_TOKEN:-}" "$@"; }
# The field $2 of the JSON in $1 after the name $3 was seen.
field() { printf '%s' "$1" | tr -d '\n ' | sed -n "s|.*\"Key\":\"$3\"[^}]*\"$2\":\"\{0,1\}\([^\",}]*\).*|\1|p"; }

for _ in 1 2 3 4 5 6 7 8 9 10; do
  seen=$(ask "$agent/v1/kv/$path/fence?consistent")
  if [ -n "$seen" ]; then
    token=$(field "$seen" Value "$path/fence" | base64 -d)
    floor=${token%% *}
    if [ "$STANCHION_FENCE" -lt "$floor" ] ||
      { [ "$STANCHION_FENCE" -eq "$floor" ] && [ "$STANCHION_LEASE_ID" != "${token#* }" ]; }; then
      echo "refused $floor"
      exit 3
    fi
    same="{\"KV\":{\"Verb\":\"check-index\",\"Key\":\"$path/fence\",\"Index\":$(field "$seen" ModifyIndex "$path/fence")}}"
  else
    same="{\"KV\":{\"Verb\":\"check-not-exists\",\"Key\":\"$path/fence\"}}"
  fi
  value=$(printf '%s %s' "$STANCHION_FENCE" "$STANCHION_LEASE_ID" | base64 | tr -d '\n')
  raise="{\"KV\":{\"Verb\":\"set\",\"Key\":\"$path/fence\",\"Value\":\"$value\"}}"
  answer=$(ask --request PUT --data "[$same,$raise,{\"KV\":{\"Verb\":\"get-tree\",\"Key\":\"$path/\"}}]" "$agent/v1/txn")
  case $answer in
    *'"Errors":null'* | *'"Errors": null'*)
      data=$(field "$answer" Value "$path/data")
      [ "$data" != null ] || data=
      echo "$(field "$answer" ModifyIndex "$path/fence") $(printf '%s' "$data" | base64 -d)"
      exit 0 ;;
    *OpIndex*) ;; # somebody else touched it in between: look again
    *) echo "$answer" >&2; exit 1 ;;
  esac
done
echo 'others were faster, ten times' >&2
exit 1
