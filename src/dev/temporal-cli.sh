# Finding or getting the temporal CLI for temporal-dev.sh, which reads this file.
# Order: $TEMPORAL_CLI, PATH, the cache folder, the official release archive, `go install`.

cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/holdfast/bin
built_version=v1.5.1 # the newest that `go install` accepts: later releases carry a replace directive
get_one='install it (https://docs.temporal.io/cli), or set TEMPORAL_CLI to its path'
lock='' stage=''

# Says on stdout why this binary will not do; says nothing when it will.
cli_fault() { # path
  local line number help
  line=$("$1" --version 2>/dev/null </dev/null) || { echo 'does not run: set TEMPORAL_CLI to one that does' && return; }
  number=${line#temporal version }
  [ "$number" != "$line" ] || { echo 'is not the Temporal CLI: set TEMPORAL_CLI to one that is' && return; }
  number=${number%% *}
  help=$("$1" server start-dev --help 2>/dev/null </dev/null)
  case $number in
    0.0.0*) ;; # built with `go install`: its flags tell the age
    0.* | 1.[0-2] | 1.[0-2].*) help='' ;;
  esac
  case $help in
    *--dynamic-config-value*--search-attribute*) ;;
    *) echo "is too old ($number, 1.3 or newer is needed): upgrade it, or set TEMPORAL_CLI to a newer one" ;;
  esac
}

check_cli() { # path, where it comes from
  local fault
  fault=$(cli_fault "$1")
  [ -z "$fault" ] || fail "the temporal CLI $1 (from $2) $fault"
}

# Into $stage; non-zero where that cannot be done.
download_cli() {
  local system machine
  case $(uname -s) in Linux) system=linux ;; Darwin) system=darwin ;; *) return 1 ;; esac
  case $(uname -m) in x86_64 | amd64) machine=amd64 ;; arm64 | aarch64) machine=arm64 ;; *) return 1 ;; esac
  command -v curl >/dev/null || return 1
  step 'downloading the temporal CLI' "$cache/download.log" curl -fsSL --connect-timeout 5 --max-time 900 -o "$stage/cli.tar.gz" \
    "https://temporal.download/cli/archive/latest?platform=$system&arch=$machine" &&
    tar -xzf "$stage/cli.tar.gz" -C "$stage" 2>/dev/null && [ -z "$(cli_fault "$stage/temporal")" ]
}

build_cli() {
  say "Building the temporal CLI $built_version with Go, which takes about 3 to 4 minutes, once"
  step 'building the temporal CLI' "$cache/build.log" \
    env GOBIN="$stage" go install "github.com/temporalio/cli/cmd/temporal@$built_version"
}

# One run gets the CLI, others wait for it. The lock is a link whose target is the owner's process id, so that lock
# and owner appear in one step. Should two runs both take away a dead owner's lock, both build; no harm is done,
# because the finished binary is moved into place in one step as well.
take_lock() {
  local owner waiting=''
  while ! ln -s "$$" "$cache/lock" 2>/dev/null; do
    owner=$(readlink "$cache/lock")
    if [ -n "$owner" ] && { ! kill -0 "$owner" 2>/dev/null || [ -n "$(find "$cache/lock" -prune -mmin +30)" ]; }; then
      rm -rf "$cache/lock" "$cache/stage.$owner"
      continue
    fi
    [ -n "$waiting" ] || say "Another run (process $owner) is getting the temporal CLI: waiting for it"
    waiting=1
    pause
  done
  lock=$cache/lock
}

get_cli() {
  mkdir -p "$cache" 2>/dev/null && [ -w "$cache" ] || fail "the folder $cache cannot be written: set XDG_CACHE_HOME"
  take_lock
  if [ ! -x "$cache/temporal" ] || [ -n "$(cli_fault "$cache/temporal")" ]; then
    stage=$cache/stage.$$
    mkdir -p "$stage" || fail "the folder $stage cannot be made"
    if ! download_cli; then
      command -v go >/dev/null ||
        fail "there is no temporal CLI, its download page cannot be reached and Go is not installed: $get_one"
      build_cli || fail "building the temporal CLI failed (log: $cache/build.log): $get_one"
    fi
    mv -f "$stage/temporal" "$cache/temporal" || fail "the temporal CLI cannot be put into $cache"
  fi
  leave_cache
}

# Also for the EXIT trap.
leave_cache() {
  [ -z "$stage" ] || rm -rf "$stage"
  [ -z "$lock" ] || rm -f "$lock"
  stage='' lock=''
}

find_cli() { # sets cli
  if [ -n "${TEMPORAL_CLI:-}" ]; then
    cli=$(type -P "$TEMPORAL_CLI") ||
      fail "TEMPORAL_CLI is $TEMPORAL_CLI, which is not there or cannot be executed: correct or unset it"
    check_cli "$cli" TEMPORAL_CLI
  elif cli=$(type -P temporal); then
    check_cli "$cli" PATH
  else
    cli=$cache/temporal
    [ -x "$cli" ] && [ -z "$(cli_fault "$cli")" ] || get_cli
  fi
}
