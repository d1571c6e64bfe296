dir=$1; shift
pid=
trap : PIPE
trap '' HUP
await() {
  tries=0
  while [ "$tries" -lt 3000 ] && state=$(grep '^State:' "/proc/$1/status" 2>/dev/null); do
    case $state in *[$2]' ('*) return ;; esac
    tries=$((tries + 1)); sleep 0.01
  done
}
stand() {
  tries=0
  while [ "$tries" -lt 300 ] && kill -STOP "$1" 2>/dev/null; do
    case $(grep '^State:' "/proc/$1/status" 2>/dev/null) in *[TtZX]' ('*) return ;; esac
    tries=$((tries + 1)); sleep 0.01
  done
}
end() {
  [ -n "$pid" ] || return 0
  stand "$pid"
  children=$(cat "/proc/$pid/task/$pid/children" 2>/dev/null)
  kill -KILL "$pid" $children 2>/dev/null
  wait "$pid" 2>/dev/null
  for child in $children; do await "$child" ZX; done
  segment=$(sed -n '7s/.* //p' "$dir/data/postmaster.pid" 2>/dev/null)
  [ -z "$segment" ] || ipcrm -m "$segment" 2>/dev/null
  pid=
}
while read -r order; do
  case $order in
    start) "$@" </dev/null >>"$dir/log" 2>&1 & pid=$!; echo "$pid" ;;
    kill) end; echo gone ;;
  esac
done
end
rm -rf "$dir" 2>/dev/null || rm -rf "$dir"
