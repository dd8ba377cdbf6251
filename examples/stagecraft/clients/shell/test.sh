#!/bin/sh
# A Kubernetes in memory for curl: creates a Deployment, waits until it is ready, and reads it.
# Run it with a cluster: stagecraft serve --speed 60 -- clients/shell/test.sh
set -eu
# What a kubeconfig says, without a tool for it: the file is written by stagecraft, one field on each line.
field() { sed -n "s/^ *$1: //p" "$KUBECONFIG"; }
authority=$(mktemp)
trap 'rm -f "$authority"' EXIT
field certificate-authority-data | base64 -d >"$authority"
api() { curl --silent --show-error --fail --cacert "$authority" --header "Authorization: Bearer $(field token)" "$@"; }
deployments=$(field server)/apis/apps/v1/namespaces/default/deployments

api --header 'Content-Type: application/json' --output /dev/null --data '
{"metadata": {"name": "web"}, "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}},
 "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": "nginx"}]}}}}' "$deployments"
api --no-buffer "$deployments?watch=true&timeoutSeconds=30" | grep --quiet --max-count 1 '"readyReplicas":2'
api "$deployments/web/status" | grep --quiet '"availableReplicas": *2'
echo 'web is ready'
