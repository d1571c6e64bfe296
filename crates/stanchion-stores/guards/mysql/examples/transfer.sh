#!/bin/sh
# A guarded read-modify-write from a shell script, through the `mariadb` (or `mysql`) program.
#
#     stanchion run --lock account-1 -- transfer.sh AMOUNT mariadb --host=127.0.0.1 app
set -eu

sql=$(dirname "$0")/..
amount=$1
shift
case $amount$STANCHION_FENCE in *[!0-9]*) echo "amount and fence are numbers" >&2; exit 2 ;; esac
case $STANCHION_LEASE_ID in *[!0-9a-f]*) echo "a lease id is hexadecimal" >&2; exit 2 ;; esac
token="SET @id = 1, @fence = $STANCHION_FENCE, @fence_lease = '$STANCHION_LEASE_ID'"

answer=$({ echo "$token;"; cat "$sql/touch.sql"; } | "$@" --batch --skip-column-names)
read -r accepted floor balance <<END
$answer
END
if [ "$accepted" != 1 ]; then
  echo "refused: a newer holder has been here; be above $floor" >&2
  exit 1
fi

written=$({ echo "$token, @balance = $((balance - amount));"; cat "$sql/write.sql"; } | "$@" --batch --skip-column-names)
if [ "$written" != 1 ]; then
  echo "refused: a newer holder has touched the row" >&2
  exit 1
fi
echo written
