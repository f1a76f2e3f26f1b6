# Child processes for temporal-dev.sh, which reads this file.
#
# Nothing outlives the script. Each child has a process group of its own (so a Ctrl-C at the terminal does not reach
# it behind our back), and the reaper stops every group that is still there when the script ends, however it ends:
# it waits for a pipe to close, which SIGKILL closes too. bash 3.2 is what macOS has: no `wait -n`, no associative
# arrays, and an empty array counts as unset.

reaper_pid='' scratch=''

say() { printf '%s\n' "$*" >&2; }
fail() { # sentence [exit code]
  say "temporal-dev.sh: $1"
  exit "${2:-1}"
}

# Whether somebody in the group still runs. A zombie does not, though `kill -0` finds it: when the script is dead and
# process 1 reaps late, or never, as in many containers, there are some.
runs() { # group
  local all
  kill -0 "-$1" || return 1
  all=$(ps -A -o pgid= -o stat=) || return 0
  grep -q "^ *$1  *[^Z ]" <<<"$all"
}

# Reads "+ group" and "- group" lines until the script is gone, then stops what is left, newest first, so that a
# worker says goodbye to a server that is still there. USR1 ends its patience.
reaper() {
  local held='' kept hurry='' op group each tries
  trap '' INT TERM HUP
  trap 'hurry=1' USR1
  while read -r op group; do
    kept=''
    for each in $held; do [ "$each" = "$group" ] || kept="$kept $each"; done
    held=$kept
    [ "$op" = - ] || held="$group $held"
  done
  for group in $held; do
    kill -TERM "-$group" || continue
    tries=0
    while [ -z "$hurry" ] && [ $tries -lt 100 ] && runs "$group"; do
      sleep 0.1
      tries=$((tries + 1))
    done
    kill -KILL "-$group"
  done
}

start_reaper() {
  scratch=$(mktemp -d "${TMPDIR:-/tmp}/holdfast.XXXXXX") || fail 'no temporary folder can be made: set TMPDIR'
  mkfifo "$scratch/groups" || fail 'no named pipe can be made: set TMPDIR'
  # Open both ways, so that neither side waits for the other one to open it.
  exec 9<>"$scratch/groups"
  set -m
  reaper <"$scratch/groups" >/dev/null 2>&1 9>&- &
  reaper_pid=$!
  set +m
}

launch() { # command…   sets pid; redirect the call to redirect the child
  [ -n "$reaper_pid" ] || start_reaper
  set -m
  "$@" </dev/null 9>&- &
  pid=$!
  set +m
  echo "+ $pid" >&9
}

# Every wait here is made of pauses, and signals are answered there: an `exit` inside a trap would keep bash 3.2 from
# hearing a second Ctrl-C. The redirection hides bash's own report of a killed child; ours says more.
interrupted='' # the exit code for the signal that has arrived
trap 'interrupted=130' INT
trap 'interrupted=143' TERM
trap 'interrupted=129' HUP
pause() {
  sleep 0.2
  [ -z "$interrupted" ] || exit "$interrupted"
} 2>/dev/null

# Its group stays with the reaper while there is still somebody in it.
ended() { # a launched process id; sets code
  wait "$1" 2>/dev/null
  code=$?
  kill -0 "-$1" 2>/dev/null || echo "- $1" >&9
}

# Runs one long step to its end, with a sign of life now and then. Returns its exit code.
step() { # what it does, log, command…
  local what=$1 log=$2 began=$SECONDS next=3 code
  shift 2
  launch "$@" >"$log" 2>&1
  while kill -0 "$pid" 2>/dev/null; do
    pause
    if [ $((SECONDS - began)) -ge $next ]; then
      say "  $what: $((SECONDS - began)) s so far"
      next=$((SECONDS - began + 15))
    fi
  done
  ended "$pid"
  return "$code"
}

names=() pids=() logs=()

serve() { # name, command…   a child that has to stay; its output goes to a log of its name
  local log="$log_dir/$1.log"
  : >"$log" || fail "the log $log cannot be written: set HOLDFAST_LOG_DIR"
  names+=("$1") logs+=("$log")
  shift
  launch "$@" >>"$log" 2>&1
  pids+=("$pid")
}

# Ends the script when a child that has to stay is gone.
check_children() {
  local i code how
  for ((i = 0; i < ${#pids[@]}; i++)); do
    kill -0 "${pids[i]}" 2>/dev/null && continue
    ended "${pids[i]}"
    how="exit code $code"
    [ "$code" -le 128 ] || how="signal $((code - 128))"
    say "temporal-dev.sh: the ${names[i]} has ended ($how), so everything is being stopped. The end of ${logs[i]}:"
    tail -n 20 "${logs[i]}" | sed 's/^/  | /' >&2
    exit 1
  done
}

await() { # name of the child, seconds, command…   until the command succeeds
  local name=$1 limit=$2 began=$SECONDS
  shift 2
  until "$@"; do
    check_children
    [ $((SECONDS - began)) -lt "$limit" ] || fail "the $name is not ready after $limit s: see $log_dir/$name.log"
    pause
  done
}

# For the EXIT trap. Waits until the reaper has stopped everything; a second Ctrl-C makes it hurry.
stop_children() {
  trap '[ -z "$reaper_pid" ] || kill -USR1 "$reaper_pid" 2>/dev/null' INT TERM
  trap '' HUP
  [ -n "$reaper_pid" ] || return 0
  exec 9>&-
  while kill -0 "$reaper_pid" 2>/dev/null; do sleep 0.1; done
  rm -rf "$scratch"
}
