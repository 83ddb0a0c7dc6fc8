#!/bin/sh
# Installs Parley: downloads the archive for this system, verifies its checksum, and puts the executable into ~/.local/bin.
# No root is needed, and nothing else is changed. Run it again to upgrade.
#
#   sh install.sh                       the latest release
#   sh install.sh --version 0.2.0       this one
#   sh install.sh --to /usr/local/bin   into another folder
#   sh install.sh --from URL            from a folder with the files of a release: https://…, http://… or file://…
set -eu

# Filled in when the release is made.
repository=""
sums=SHA256SUMS

main() {
  to=${PARLEY_INSTALL_TO:-}
  from=${PARLEY_INSTALL_FROM:-}
  version=
  while [ $# -gt 0 ]; do
    case $1 in
      --to | --from | --version)
        [ $# -gt 1 ] || fail "$1 needs a value"
        case $1 in --to) to=$2 ;; --from) from=$2 ;; --version) version=${2#v} ;; esac
        shift 2
        ;;
      -h | --help) usage; exit 0 ;;
      *) fail "there is no $1; see sh install.sh --help" ;;
    esac
  done
  [ -n "$to" ] || to=${HOME:?set HOME, or use --to}/.local/bin
  [ -z "$from" ] || [ -z "$version" ] || fail "--version and --from name two places: --from is a folder with one release"
  base=$(address) || exit 1
  archive=parley-$(system).tar.gz || exit 1
  target=$to/parley
  refuse_others "$target"
  work=$(mktemp -d "${TMPDIR:-/tmp}/parley-install.XXXXXX")
  trap 'rm -rf "$work" "$to/.parley.new.$$"' EXIT
  trap 'exit 1' HUP INT TERM

  say "downloading $base/$archive"
  download "$base/$sums" "$work/$sums"
  download "$base/$archive" "$work/$archive"
  verify
  tar -xzf "$work/$archive" -C "$work"
  # Before it replaces one that works.
  installed=$("$work/parley/parley" version) ||
    fail "the executable does not run on this system; nothing was changed. Alpine needs its package libstdc++; other ways to install are on the release's page"

  mkdir -p "$to" || fail "$to cannot be made: name another folder with --to"
  # Renamed into place: a service that runs from the old file goes on.
  cp "$work/parley/parley" "$to/.parley.new.$$" || fail "$to cannot be written to: name another folder with --to"
  chmod 0755 "$to/.parley.new.$$"
  mv -f "$to/.parley.new.$$" "$target"
  next_steps "$installed"
}

usage() {
  cat <<'TEXT'
Installs Parley for this user: sh install.sh [--version X] [--to FOLDER] [--from URL]

  --version X   a release; default: the latest
  --to FOLDER   where the executable goes; default ~/.local/bin
  --from URL    a folder with the files of a release (https, http or file)

PARLEY_INSTALL_TO and PARLEY_INSTALL_FROM do the same as --to and --from.
TEXT
}

say() { printf 'parley: %s\n' "$1" >&2; }

fail() {
  say "$1"
  exit 1
}

address() {
  if [ -n "$from" ]; then
    printf '%s\n' "${from%/}"
  elif [ -z "$repository" ]; then
    fail "this script does not know where releases are: give the address of their folder with --from"
  elif [ -n "$version" ]; then
    printf '%s\n' "$repository/releases/download/v$version"
  else
    printf '%s\n' "$repository/releases/latest/download"
  fi
}

# linux-x64, linux-arm64-musl, darwin-arm64 …
system() {
  case $(uname -s) in
    Linux) os=linux ;;
    Darwin) os=darwin ;;
    FreeBSD) os=freebsd ;;
    *) fail "there is no executable for $(uname -s); use the npm package parley-server" ;;
  esac
  case $(uname -m) in
    x86_64 | amd64) machine=x64 ;;
    aarch64 | arm64) machine=arm64 ;;
    *) fail "there is no executable for $(uname -m); there are x86_64 and arm64" ;;
  esac
  libc=
  # Alpine and others have another C library.
  if [ "$os" = linux ] && ! has_glibc; then libc=-musl; fi
  printf '%s-%s%s\n' "$os" "$machine" "$libc"
}

has_glibc() {
  getconf GNU_LIBC_VERSION >/dev/null 2>&1 && return
  # Without getconf: by the dynamic linkers.
  for linker in /lib/ld-musl-*; do [ ! -e "$linker" ] || return 1; done
}

# What is there may be replaced only if it is Parley's executable: it has the name of this setting inside.
refuse_others() {
  [ -e "$1" ] || [ -L "$1" ] || return 0
  [ ! -L "$1" ] || fail "$1 is a link to $(readlink "$1"): remove it, or name another folder with --to"
  [ -f "$1" ] && LC_ALL=C grep -q PARLEY_ADMIN_LISTEN "$1" ||
    fail "$1 exists and is not Parley: remove it, or name another folder with --to"
}

download() {
  case $1 in
    file://*) cp "${1#file://}" "$2" || fail "${1#file://} cannot be read" ;;
    https://*) fetch "$1" "$2" https ;;
    http://*) fetch "$1" "$2" http,https ;;
    *) fail "$1 is no address: it begins with https://, http:// or file://" ;;
  esac
}

# $3: what a redirect may lead to. Over http, anyone on the way could change an archive together with its checksum.
fetch() {
  if command -v curl >/dev/null; then
    code=0
    curl --fail --silent --show-error --location --proto-redir "=$3" --retry 3 --output "$2" "$1" || code=$?
    # 1: a protocol that is not allowed.
    [ $code -ne 1 ] || fail "$1 leads to an address without https; nothing was changed"
    [ $code -eq 0 ] || fail "$1 cannot be downloaded"
  elif command -v wget >/dev/null; then
    # wget follows every redirect: what it says of them shows whether the file can be used.
    wget -S -O "$2" "$1" 2>"$work/log" || fail "$1 cannot be downloaded: $(tail -n 1 "$work/log")"
    [ "$3" != https ] || ! grep -qi '^ *location: *http:' "$work/log" ||
      fail "$1 leads to an address without https; nothing was changed"
  else
    fail "curl or wget is needed to download; install one of them"
  fi
}

verify() {
  expected=$(awk -v name="$archive" '$2 == name { print $1 }' "$work/$sums")
  [ -n "$expected" ] || fail "$base/$sums does not list $archive; nothing was changed"
  if command -v sha256sum >/dev/null; then
    actual=$(sha256sum "$work/$archive")
  elif command -v shasum >/dev/null; then
    actual=$(shasum -a 256 "$work/$archive")
  elif command -v sha256 >/dev/null; then
    actual=$(sha256 -q "$work/$archive")
  else
    fail "sha256sum or shasum is needed to verify the download; nothing was changed"
  fi
  [ "${actual%% *}" = "$expected" ] ||
    fail "the checksum of $archive is wrong (${actual%% *}, not $expected): the download is damaged or was changed on its way. Nothing was changed"
}

next_steps() {
  printf '%s is installed in %s\n' "${1%% (*}" "$target"
  case :$PATH: in
    *":$to:"*) program=parley ;;
    *)
      program=$target
      printf 'To call it by its name, add this to your profile: export PATH="%s:$PATH"\n' "$to"
      ;;
  esac
  printf 'Start it:      %s up\nAll commands:  %s help\n' "$program" "$program"
}

# At the end, so that a download of this script that was cut off does nothing.
main "$@"
