#!/bin/sh
# Devices and backends that cannot hold a WebSocket open: everything here is one curl.
set -eu

base=${PARLEY_URL:-http://localhost:8080}
: "${PARLEY_KEY:?set it to a secret key, sk_id_…:sk_secret_…}"

# The key goes in by standard input: all users of the machine can see arguments.
call() {
  printf 'header = "Authorization: Bearer %s"\n' "$PARLEY_KEY" | curl -sS --fail-with-body --max-time 10 -K - "$@"
  echo
}

usage() {
  cat >&2 <<EOF
signals.sh report DEVICE JSON     publish on signals/DEVICE, as DEVICE
signals.sh watchers DEVICE        who listens to signals/DEVICE
signals.sh active                 the devices that somebody listens to
signals.sh tell PEER JSON         a direct message to one peer
EOF
  exit 2
}

case "${1:-} $#" in
  "report 3") call "$base/v1/channels/signals%2F$2/publish" -d "{\"from\":\"$2\",\"data\":$3}" ;;
  "watchers 2") call "$base/v1/channels/signals%2F$2/peers" ;;
  "active 1") call "$base/v1/channels?prefix=signals/" ;;
  "tell 3") call "$base/v1/peers/$2/send" -d "{\"data\":$3}" ;;
  *) usage ;;
esac
