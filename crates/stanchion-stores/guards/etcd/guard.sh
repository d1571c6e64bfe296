#!/bin/sh
# Guarded reads and writes of one etcd key, with nothing but curl.
#
# usage: STANCHION_FENCE=5 STANCHION_LEASE_ID=00000000000000aa [ETCD=http://127.0.0.1:2379] guard.sh touch KEY
#        … guard.sh write KEY VALUE
#
# `touch` raises the key's fence to your token and prints the value, in one transaction. `write` writes if your token was
# the last to touch. Both end with 0, with 3 if a newer holder has been there, with 1 if etcd cannot be asked, and with 4
# if its answer is lost: then it may have run. Touch again to see; the same token may do that as often as it likes.
set -eu

etcd=${ETCD:-http://127.0.0.1:2379}
order=$1
key=$(printf %s "$2" | base64 | tr -d '\n')
fence=$(printf %s "$2.fence" | base64 | tr -d '\n')
# One width, so that etcd's comparison of bytes is that of the numbers.
number=$(printf %020d "$STANCHION_FENCE")
floor=$(printf %s "$number" | base64 | tr -d '\n')
token=$(printf %s "$number-$STANCHION_LEASE_ID" | base64 | tr -d '\n')

is_ours='{"key":"'$fence'","target":"VALUE","result":"EQUAL","value":"'$token'"}'
case $order in
touch)
  read='{"requestRange":{"key":"'$key'"}}'
  raise='[{"requestPut":{"key":"'$fence'","value":"'$token'"}},'$read']'
  below='{"key":"'$fence'","target":"VALUE","result":"LESS","value":"'$floor'"}'
  absent='{"key":"'$fence'","target":"CREATE","result":"EQUAL","createRevision":"0"}'
  again='{"requestTxn":{"compare":['$is_ours'],"success":['$read'],"failure":[]}}'
  first='{"requestTxn":{"compare":['$absent'],"success":'$raise',"failure":['$again']}}'
  txn='{"compare":['$below'],"success":'$raise',"failure":['$first']}'
  ;;
write)
  value=$(printf %s "$3" | base64 | tr -d '\n')
  txn='{"compare":['$is_ours'],"success":[{"requestPut":{"key":"'$key'","value":"'$value'"}}],"failure":[]}'
  ;;
*)
  echo "usage: guard.sh touch KEY | guard.sh write KEY VALUE" >&2
  exit 2
  ;;
esac

code=0
answer=$(printf %s "$txn" | curl -sSf -m 10 --data-binary @- "$etcd/v3/kv/txn") || code=$?
case $code in
0) ;;
# No such host, or no connection: nothing was sent.
6 | 7)
  echo "not done: etcd cannot be reached" >&2
  exit 1
  ;;
*)
  echo "unknown: no answer of etcd, so this $order may have run; touch again to see" >&2
  exit 4
  ;;
esac
case $answer in
*'"succeeded":true'*) printf %s "$answer" | sed -n 's/.*"value":"\([^"]*\)".*/\1/p' | base64 -d ;;
*)
  echo "refused: a newer holder has been here" >&2
  exit 3
  ;;
esac
