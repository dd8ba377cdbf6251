#!/bin/sh
# For workflows: starts stagecraft serve in the background, waits until it answers, and prints the path of its
# kubeconfig. On GitHub the later steps find it by $KUBECONFIG.
#
#	kubeconfig.sh [FLAG OF SERVE]...        KUBECONFIG=$(kubeconfig.sh --load crds/)
#	kill "$(cat "$KUBECONFIG.pid")"         ends it; the end of the job does, too
#
# STAGECRAFT is the program (default: stagecraft of $PATH).
set -eu
dir=$(mktemp -d)
file=$dir/kubeconfig
"${STAGECRAFT:-stagecraft}" serve --kubeconfig-file "$file" "$@" >"$dir/out" 2>"$dir/err" </dev/null &
pid=$!
echo "$pid" >"$file.pid"
until grep -q . "$dir/out"; do
  kill -0 "$pid" 2>/dev/null || { cat "$dir/err" >&2; exit 1; }
  sleep 0.02
done
[ -z "${GITHUB_ENV:-}" ] || echo "KUBECONFIG=$file" >>"$GITHUB_ENV"
echo "$file"
