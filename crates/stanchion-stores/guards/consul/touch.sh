#!/bin/sh
# Raises the fence of PATH to your token and reads, in one transaction.
# usage: STANCHION_FENCE=5 STANCHION_LEASE_ID=00000000000000aa touch.sh PATH
# Prints the guard (hand it to write.sh) and the value. Ends with 3 and the floor if a newer holder has been here.
set -eu
path=$1
agent=${CONSUL_HTTP_ADDR:-http://127.0.0.1:8500}
# What is no number would count as "not lower" below; a number of more than 18 digits may be too large for `test`.
number() { case $1 in '' | *[!0-9]* | ???????????????????*) return 1 ;; esac; }
hex() { case $1 in *[!0-9a-f]*) return 1 ;; ????????????????) ;; *) return 1 ;; esac; }
if ! number "$STANCHION_FENCE" || ! hex "$STANCHION_LEASE_ID"; then
  echo 'a token is a number of at most 18 digits and 16 hex digits' >&2
  exit 2
fi

ask() { curl --silent --show-error --max-time 10 --header "X-Consul-Token: ${CONSUL_HTTP_TOKEN:-}" "$@"; }
# The field $2 of the JSON in $1 after the name $3 was seen.
field() { printf '%s' "$1" | tr -d '\n ' | sed -n "s|.*\"Key\":\"$3\"[^}]*\"$2\":\"\{0,1\}\([^\",}]*\).*|\1|p"; }

for _ in 1 2 3 4 5 6 7 8 9 10; do
  seen=$(ask "$agent/v1/kv/$path/fence?consistent")
  if [ -n "$seen" ]; then
    token=$(field "$seen" Value "$path/fence" | base64 -d)
    floor=${token%% *}
    if ! number "$floor"; then
      echo "$path/fence is not a token" >&2
      exit 1
    fi
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
