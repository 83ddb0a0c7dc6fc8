# Sourced by bin/parley and bin/dev, which set $here to this folder. Sets $root (the project) and $bun (a working Bun), and installs what is missing.
# $want_dev=1 asks for the development dependencies too. $want_current=1 also installs when package-lock.json has changed since the last install;
# without it, a command uses what is installed, because a service may be running from it.

root=$(dirname "$here")
modules=$root/node_modules
# npm may put the dependencies of an installed package beside it. Not beside a clone: other users may write to the folder that it is in.
case $(dirname "$root") in
  */node_modules) [ -d "$modules/zod" ] || [ ! -d "$root/../zod" ] || modules=$(dirname "$root") ;;
esac
bun=$modules/bun/bin/bun.exe
# Next to node_modules, so that a rename is enough to put the new folder into its place.
staging=$root/node_modules.new
replaced=$root/node_modules.old

usable() {
  [ -d "$modules/zod" ] && "$bun" --version >/dev/null 2>&1 || return 1
  # A package that npm has installed has no lock file to compare with.
  [ -f "$root/package-lock.json" ] || return 0
  [ -f "$modules/.package-lock.json" ] || return 1
  [ -z "$want_dev" ] || [ -d "$modules/@biomejs/biome" ]
}

# By its content, because git gives the file a new date without changing it; by its date after an "npm ci" by hand, which keeps no copy.
current() {
  [ -f "$root/package-lock.json" ] && [ "$root/package-lock.json" -nt "$modules/.package-lock.json" ] || return 0
  cmp -s "$root/package-lock.json" "$modules/.installed-lock.json"
}

needs_install() {
  usable || return 0
  [ -n "$want_current" ] && ! current
}

fail() {
  printf 'parley: %s\n' "$1" >&2
  exit 1
}

# One install at a time: the lock is on file 9, and ends with the process however that ends. Perl is for systems without flock, such as macOS.
lock() {
  exec 9<"$here/setup.sh"
  if command -v flock >/dev/null; then
    flock -n 9 || { echo "parley: waiting for another command that installs the dependencies" >&2; flock 9; }
  elif command -v perl >/dev/null; then
    perl -e 'open(F, "<&=9") && flock(F, 2)'
  fi
}

# On a slow connection it takes minutes, and npm says nothing meanwhile. Ends also if this command is killed.
say_that_it_goes_on() {
  seconds=0
  while sleep 15 >/dev/null 2>&1 && kill -0 $$ 2>/dev/null; do
    seconds=$((seconds + 15))
    echo "parley: still installing dependencies ($seconds s)" >&2
  done
}

# npm works in a folder of its own, and a rename puts the result into place: a service that runs from node_modules never finds it empty,
# and an install that fails changes nothing.
install() {
  [ -f "$root/package-lock.json" ] || fail "the dependencies in $modules are not complete: install the package again"
  command -v npm >/dev/null || fail "npm is needed to install the dependencies (Node 20 or later)"
  echo "parley: installing dependencies (once)" >&2
  omit=--omit=dev
  # Keep the development packages where they are installed already.
  { [ -n "$want_dev" ] || [ -d "$modules/@biomejs/biome" ]; } && omit=--include=dev
  rm -rf "$staging" "$replaced"
  mkdir "$staging" && cp "$root/package.json" "$root/package-lock.json" "$staging/" ||
    fail "the dependencies cannot be installed in $root: run this as the owner of the folder"
  say_that_it_goes_on 9<&- &
  reminder=$!
  # The output of npm is shown only if it fails: its warnings about its own configuration would confuse users at the first start.
  output=$(cd "$staging" && npm ci --no-audit --no-fund $omit 9<&- 2>&1) || {
    kill "$reminder" 2>/dev/null
    rm -rf "$staging"
    printf '%s\n' "$output" >&2
    fail "npm ci failed; its message is above"
  }
  kill "$reminder" 2>/dev/null
  launcher "$staging/node_modules" || fail "Bun cannot run here; tried: node node_modules/bun/install.js"
  cp "$root/package-lock.json" "$staging/node_modules/.installed-lock.json"
  touch "$staging/node_modules/.package-lock.json"
  if [ -e "$modules" ] || [ -L "$modules" ]; then mv "$modules" "$replaced"; fi
  mv "$staging/node_modules" "$modules" || fail "$modules cannot be replaced"
  rm -rf "$staging" "$replaced"
}

# If npm does not run install scripts, Bun's binary is installed but its launcher is missing: make it.
launcher() {
  "$1/bun/bin/bun.exe" --version >/dev/null 2>&1 ||
    { (cd "$1/bun" && node install.js >&2) && "$1/bun/bin/bun.exe" --version >/dev/null 2>&1; }
}

if needs_install; then
  lock
  # Another command may have done it meanwhile; and where only the launcher is missing, that is quickly made.
  [ -f "$modules/bun/install.js" ] && launcher "$modules" 9<&-
  if needs_install; then install; fi
  exec 9<&-
elif ! current; then
  echo "parley: package-lock.json has changed since the dependencies were installed; the next start of the service installs them (${program:-bin/parley} up)" >&2
fi
