# Sourced by bin/parley and bin/dev, which set $here to this folder. Sets $root (the project) and $bun (a working Bun), and installs what is missing.
# $want_dev=1 asks for the development dependencies too.

root=$(dirname "$here")
modules=$root/node_modules
# A package that npm has installed: its dependencies are beside it, and it has no lock file to install them from.
[ -f "$root/package-lock.json" ] || [ -d "$modules/zod" ] || modules=$(dirname "$root")
bun=$modules/bun/bin/bun.exe

complete() {
  [ -f "$root/package-lock.json" ] || [ ! -d "$modules/zod" ] || return 0
  [ -d "$modules/zod" ] && [ -f "$modules/.package-lock.json" ] || return 1
  [ "$root/package-lock.json" -nt "$modules/.package-lock.json" ] && return 1
  [ -z "$want_dev" ] || [ -d "$modules/@biomejs/biome" ]
}

if ! complete; then
  command -v npm >/dev/null || { echo "parley: npm is needed to install the dependencies (Node 20 or later)" >&2; exit 1; }
  echo "parley: installing dependencies (once)" >&2
  omit=--omit=dev
  # Keep the development packages where they are installed already.
  { [ -n "$want_dev" ] || [ -d "$modules/@biomejs/biome" ]; } && omit=--include=dev
  # The output of npm is shown only if it fails: its warnings about its own configuration would confuse users at the first start.
  output=$(cd "$root" && npm ci --no-audit --no-fund $omit 2>&1) || {
    printf '%s\n' "$output" "parley: npm ci failed; its message is above" >&2
    exit 1
  }
  touch "$modules/.package-lock.json"
fi

# If npm does not run install scripts, Bun's binary is installed but its launcher is missing: make it.
if ! "$bun" --version >/dev/null 2>&1; then
  (cd "$modules/bun" && node install.js >&2) && "$bun" --version >/dev/null || {
    echo "parley: Bun cannot run here; tried: node node_modules/bun/install.js" >&2
    exit 1
  }
fi
