#!/bin/sh
# Writes if nobody has touched PATH since the touch that printed GUARD: one transaction.
# usage: write.sh PATH GUARD VALUE
# Ends with 0 if written, 3 if a newer holder has been there; then nothing was written.
set -eu
path=$1 guard=$2
case $guard in '' | *[!0-9]*) echo 'a guard is a number: see touch.sh' >&2; exit 2 ;; esac
agent=${CONSUL_HTTP_ADDR:-http://127.0.0.1:8500}
value=$(printf '%s' "$3" | base64 | tr -d '\n')
same="{\"KV\":{\"Verb\":\"check-index\",\"Key\":\"$path/fence\",\"Index\":$guard}}"
write="{\"KV\":{\"Verb\":\"set\",\"Key\":\"$path/data\",\"Value\":\"$value\"}}"
answer=$(curl --silent --show-error --max-time 10 --header "X-Consul-Token: ${CONSUL_HTTP_TOKEN:-}" \
  --request PUT --data "[$same,$write]" "$agent/v1/txn")
case $answer in
  *'"Errors":null'* | *'"Errors": null'*) echo written ;;
  *'index check'* | *"doesn't exist"*) echo refused; exit 3 ;;
  *) echo "$answer" >&2; exit 1 ;;
esac
