#!/usr/bin/env bash
# Holdfast on this machine: a Temporal dev server with its Web UI, the local Agents API and a worker, started together
# and stopped together. Linux and macOS, bash 3.2 included. It needs Node; everything else it gets itself.
# src/dev/children.sh keeps the processes, src/dev/temporal-cli.sh finds or gets the temporal binary.
set -u

usage() {
  cat <<'TEXT'
Usage: ./temporal-dev.sh [command]

  up            start a Temporal dev server with Web UI, the local Agents API (when OPENAI_API_KEY is not set) and a
                worker; stay until Ctrl-C, then stop them all. This is what happens without a command.
  demo          start the server and the local Agents API, run the demo to its end, stop them all
  demo --stay   the same, but leave the Web UI up until Ctrl-C
  cli-path      print the path of the temporal binary; get it first if there is none
  server-flags  print the dev server's settings, one argument a line (the tests start theirs with the same)

Variables
  HOLDFAST_TEMPORAL_PORT   Temporal server (7233)
  HOLDFAST_UI_PORT         Web UI (8233)
  HOLDFAST_EMULATOR_PORT   local Agents API (8788)
  HOLDFAST_TEMPORAL_DB     a database file for the server, beside which the local Agents API keeps its sessions;
                           without it both keep everything in memory
  HOLDFAST_LOG_DIR         where the logs go (.holdfast/logs)
  TEMPORAL_CLI             the temporal binary to use; otherwise PATH, a cache folder, the official release archive
                           and `go install` are tried, in this order
  OPENAI_API_KEY           use the real service, or the one at OPENAI_BASE_URL, instead of the local Agents API
TEXT
}

home=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P) || exit 1
. "$home/src/dev/children.sh" || exit 1
. "$home/src/dev/temporal-cli.sh" || exit 1

finish() {
  local status=$?
  stop_children
  leave_cache
  exit $status
}
trap finish EXIT

# The last two take a tool round on the dev server from 205 ms to 46 ms: activities start eagerly, and the next step
# of a busy workflow does not wait for one of 20 ticks a second.
server_flags() {
  printf '%s\n' \
    --search-attribute HoldfastSessionId=Keyword \
    --search-attribute HoldfastAgent=Keyword \
    --search-attribute HoldfastState=Keyword \
    --dynamic-config-value system.enableActivityEagerExecution=true \
    --dynamic-config-value history.transferProcessorMaxPollRPS=1000
}

check_node() {
  node -e '
    const [major, minor] = process.versions.node.split(".").map(Number);
    process.exit(major > 20 || (major === 20 && minor >= 20) ? 0 : 1);
  ' 2>/dev/null || fail 'Node 20.20 or newer is needed: install it from https://nodejs.org'
}

# Compares content, not times: git touches the lockfile at every checkout.
install_packages() {
  node -e '
    const wanted = require("./package-lock.json").packages;
    const there = require("./node_modules/.package-lock.json").packages;
    for (const [path, entry] of Object.entries(wanted))
      if (path !== "" && !entry.optional && there[path]?.version !== entry.version) process.exit(1);
  ' 2>/dev/null && return
  say 'Installing the npm packages'
  step 'npm ci' "$log_dir/npm.log" npm ci --no-audit --no-fund || fail "npm ci failed: see $log_dir/npm.log"
}

# Exit code 0 when nobody has the port. It connects too, because macOS lets a second socket have it by address.
port_is_free() { # port
  node -e '
    const net = require("node:net"), host = "127.0.0.1", port = Number(process.argv[1]);
    const taken = () => process.exit(1);
    net.connect(port, host, taken).on("error", () =>
      net.createServer().on("error", taken).listen(port, host, () => process.exit(0)));
  ' "$1"
}

any_free_port() {
  node -e '
    const server = require("node:net").createServer().listen(0, "127.0.0.1", () => {
      process.stdout.write(String(server.address().port));
      server.close();
    });
  '
}

# A demo should just run, so there a default port that is taken is replaced by a free one.
choose_port() { # variable, default   sets port
  port=${!1:-$2}
  case $port in *[!0-9]* | ??????*) port=0 ;; esac
  [ "$port" -ge 1 ] && [ "$port" -le 65535 ] || fail "$1 is '${!1}', which is not a port number" 2
  port_is_free "$port" && return
  [ "$command" = demo ] && [ -z "${!1:-}" ] ||
    fail "port $port is in use: stop what listens there, or set $1 to a free port"
  port=$(any_free_port)
}

choose_ports() {
  choose_port HOLDFAST_TEMPORAL_PORT 7233
  server_port=$port
  choose_port HOLDFAST_UI_PORT 8233
  ui_port=$port
  emulator_port=''
  if [ -z "${OPENAI_API_KEY:-}" ]; then
    choose_port HOLDFAST_EMULATOR_PORT 8788
    emulator_port=$port
  fi
  case " $ui_port $emulator_port " in *" $server_port "*) fail "port $server_port is asked for twice" 2 ;; esac
  [ "$ui_port" != "$emulator_port" ] || fail "port $ui_port is asked for twice" 2
}

# Settings for some other Temporal must not reach the one on this machine: no variable, no profile, no TLS.
use_local_temporal() {
  local name
  address=127.0.0.1:$server_port
  other_settings=$(compgen -e TEMPORAL_)
  for name in $other_settings; do unset "$name"; done
  export TEMPORAL_ADDRESS=$address TEMPORAL_NAMESPACE=default TEMPORAL_CONFIG_FILE=/dev/null
}

server_answers() { # to all that the worker needs: the namespace and its search attributes
  "$cli" operator search-attribute list --command-timeout 5s 2>/dev/null | grep -q HoldfastState
}
emulator_listens() { (exec 3<>"/dev/tcp/127.0.0.1/$emulator_port") 2>/dev/null; }
# The server may repeat an answer of the newer kind for 5 seconds, so the older kind is asked for where it exists.
worker_polls() {
  local ask=(task-queue describe --task-queue holdfast --command-timeout 5s --output json)
  { "$cli" "${ask[@]}" --legacy-mode || "$cli" "${ask[@]}"; } 2>/dev/null | grep -q '"identity"'
}

start_backend() {
  local server=(server start-dev --ip 127.0.0.1) emulator=(emulator --script src/examples/trip-planner.script.ts)
  check_node
  log_dir=${HOLDFAST_LOG_DIR:-.holdfast/logs}
  mkdir -p "$log_dir" 2>/dev/null || fail "the folder $log_dir cannot be made: set HOLDFAST_LOG_DIR"
  choose_ports
  find_cli
  install_packages
  use_local_temporal
  if [ -n "$HOLDFAST_TEMPORAL_DB" ]; then
    server+=(--db-filename "$HOLDFAST_TEMPORAL_DB")
    emulator+=(--data "$HOLDFAST_TEMPORAL_DB.sessions")
  fi
  # The flags are words without spaces.
  # shellcheck disable=SC2046
  serve server "$cli" "${server[@]}" --port "$server_port" --ui-port "$ui_port" $(server_flags)
  if [ -n "$emulator_port" ]; then
    serve emulator node --import tsx src/cli/main.ts "${emulator[@]}" --port "$emulator_port"
    export OPENAI_BASE_URL=http://127.0.0.1:$emulator_port/v1 OPENAI_API_KEY=local
    await emulator 60 emulator_listens
  fi
  await server 60 server_answers
}

up() {
  local shown at=''
  start_backend
  say 'The server runs; starting a worker'
  serve worker node --import tsx src/cli/main.ts worker --agents src/examples/agents.ts
  await worker 180 worker_polls
  shown=$(printf %q "$cli")
  [ "$(type -P temporal)" != "$cli" ] || shown=temporal
  [ "$server_port" = 7233 ] && [ -z "$other_settings" ] || at=" --address $address"
  cat <<TEXT
Holdfast is running.
  Web UI       http://127.0.0.1:$ui_port
  Temporal     $address
  Agents API   ${OPENAI_BASE_URL:-https://api.openai.com/v1}${emulator_port:+ (local, scripted)}
  Logs         $log_dir/ (server, ${emulator_port:+emulator, }worker)

Start a task:
  $shown workflow start$at --type agentTask --task-queue holdfast --workflow-id trip-1 --input '{"agent":"trip-planner","input":"Lisbon or Porto next weekend? Take the one with the better weather and book a room."}'

Ctrl-C stops everything.
TEXT
  trap 'interrupted=0' INT TERM # being stopped is how this command ends
  while :; do
    check_children
    pause
  done
}

demo() {
  local code
  start_backend
  export HOLDFAST_UI_URL=http://127.0.0.1:$ui_port
  launch node --import tsx src/examples/demo/main.ts
  while kill -0 "$pid" 2>/dev/null; do
    check_children
    pause
  done
  ended "$pid"
  [ -n "$stay" ] || exit "$code"
  say "The Web UI stays up at $HOLDFAST_UI_URL; Ctrl-C stops everything"
  trap 'interrupted=$code' INT TERM
  while :; do
    check_children
    pause
  done
}

absolute() { # path of the caller's
  case $1 in '' | /*) printf %s "$1" ;; *) printf %s "$PWD/$1" ;; esac
}

stay=
if [ "${1-}" = demo ] && [ "${2-}" = --stay ] && [ $# -eq 2 ]; then
  stay=yes
  set -- demo
fi
[ $# -le 1 ] || fail "one command, not $#: see ./temporal-dev.sh --help" 2
command=${1-up}
case $command in
  up | demo | cli-path) ;;
  server-flags) server_flags && exit ;;
  -h | --help) usage && exit ;;
  *) fail "there is no command '$command': see ./temporal-dev.sh --help" 2 ;;
esac
HOLDFAST_TEMPORAL_DB=$(absolute "${HOLDFAST_TEMPORAL_DB:-}")
HOLDFAST_LOG_DIR=$(absolute "${HOLDFAST_LOG_DIR:-}")
case ${TEMPORAL_CLI:-} in */*) TEMPORAL_CLI=$(absolute "$TEMPORAL_CLI") ;; esac
cd "$home" || exit 1
if [ "$command" = cli-path ]; then
  find_cli
  printf '%s\n' "$cli"
else
  "$command"
fi
