#!/usr/bin/env bash
# Before Tangram is taken away: nobody new is held back, and nobody stays so. Uses kubectl as who may do everything.
#
#   deploy/kubernetes/uninstall.sh && helm uninstall tangram -n kube-system
#
# Pods that run go on. Those that wait lose their gate; what asks for huawei.com/…-memory then waits until some other manager of NPUs
# offers it. Safe to run again.
set -euo pipefail

# First the policies, which refuse what the webhook has not seen, then the webhook: between the two nothing is refused wrongly.
policies=(tangram-new-pods tangram-marks tangram-nodes tangram-agents)
kubectl delete validatingadmissionpolicybinding "${policies[@]}" --ignore-not-found
kubectl delete validatingadmissionpolicy "${policies[@]}" --ignore-not-found
kubectl delete mutatingwebhookconfiguration tangram --ignore-not-found

gated() {
  kubectl get pods --all-namespaces --selector tangram.dev/managed=true --output \
    go-template='{{range $pod := .items}}{{range $i, $gate := $pod.spec.schedulingGates}}{{if eq $gate.name "tangram.dev/quota"}}{{
      $pod.metadata.namespace}} {{$pod.metadata.name}} {{$i}}{{"\n"}}{{end}}{{end}}{{end}}'
}

# API servers forget a webhook some time after it was deleted: a Pod that came just then is found by the next look.
quiet=0
while [ "$quiet" -lt 3 ]; do
  pods=$(gated)
  quiet=$((quiet + 1))
  while read -r space name place; do
    [ -n "$space" ] || continue
    quiet=0
    # A Pod that has gone meanwhile, or changed, is seen by the next look.
    kubectl patch pod "$name" --namespace "$space" --type=json --patch "[
      {\"op\": \"test\", \"path\": \"/spec/schedulingGates/$place/name\", \"value\": \"tangram.dev/quota\"},
      {\"op\": \"remove\", \"path\": \"/spec/schedulingGates/$place\"}]" || true
  done <<< "$pods"
  sleep 1
done
echo "no Pod waits for Tangram"
