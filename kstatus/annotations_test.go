package kstatus_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

func TestNoWait(t *testing.T) {
	for _, c := range []struct{ metadata, want string }{
		{`{annotations: {stagecraft-go.github.io/wait: disabled}}`, "Current NotWaitedFor: Annotation stagecraft-go.github.io/wait says not to wait"},
		{`{annotations: {action.timoni.sh/wait: disabled}}`, "Current NotWaitedFor: Annotation action.timoni.sh/wait says not to wait"},
		{`{annotations: {argocd.argoproj.io/ignore-healthcheck: "true"}}`, "Current NotWaitedFor: Annotation argocd.argoproj.io/ignore-healthcheck says not to wait"},
		{`{annotations: {kapp.k14s.io/disable-wait: ""}}`, "Current NotWaitedFor: Annotation kapp.k14s.io/disable-wait says not to wait"},
		{`{annotations: {pulumi.com/skipAwait: "true"}}`, "Current NotWaitedFor: Annotation pulumi.com/skipAwait says not to wait"},
		{`{annotations: {resources.gardener.cloud/skip-health-check: "true"}}`, "Current NotWaitedFor: Annotation resources.gardener.cloud/skip-health-check says not to wait"},
		{`{annotations: {stagecraft-go.github.io/wait: enabled, kustomize.toolkit.fluxcd.io/reconcile: disabled, helm.sh/ignoreWait: "true"}}`, "Failed Failed: phase is Failed"},
		{`{annotations: {stagecraft-go.github.io/wait: disabled}, deletionTimestamp: 2025-01-01T00:00:00Z}`, "Terminating: Resource scheduled for deletion"},
		{`{}`, "Failed Failed: phase is Failed"},
	} {
		obj := parse(t, "{apiVersion: example.com/v1, kind: Widget, metadata: "+c.metadata+", status: {phase: Failed}}")
		rules := kstatus.Extended().HonorNoWait(true)
		require.Equal(t, c.want, rules.Compute(obj, now).String())
		require.Equal(t, rules.Compute(obj, now), rules.Explain(obj, now).Result)
		require.NotEqual(t, "NotWaitedFor", kstatus.Extended().Compute(obj, now).Reason)
		require.Equal(t, kstatus.Extended().Compute(obj, now), rules.HonorNoWait(false).Compute(obj, now))
	}
}
