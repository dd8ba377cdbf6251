package kstatus_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

func ExampleKinds() {
	for _, k := range kstatus.Kinds() {
		if k.Kind.Group == "cert-manager.io" {
			fmt.Println(k.Kind, k.Reads)
		}
	}
	// Output:
	// Certificate.cert-manager.io [status.conditions[type="Issuing"].status status.conditions[type="Ready"].status]
	// CertificateRequest.cert-manager.io [status.conditions[type="InvalidRequest"].status status.conditions[type="Denied"].status status.conditions[type="Ready"].status]
	// ClusterIssuer.cert-manager.io [status.conditions[type="Ready"].status]
	// Issuer.cert-manager.io [status.conditions[type="Ready"].status]
}

// TestKindsAreThoseOfTheRules: every kind stands in the list once for each
// table, with a source.
func TestKindsAreThoseOfTheRules(t *testing.T) {
	kinds := kstatus.Kinds()
	require.Greater(t, len(kinds), 350)
	seen := map[string]bool{}
	for _, k := range kinds {
		require.NotEmpty(t, k.Source, k.Kind)
		key := k.Kind.String() + " " + k.Source
		require.False(t, seen[key], k.Kind)
		seen[key] = true
		require.False(t, k.Always && len(k.Reads) > 0, k.Kind)
	}
}

func TestWithout(t *testing.T) {
	issuer := schema.GroupKind{Group: "cert-manager.io", Kind: "Issuer"}
	obj := parse(t, `{apiVersion: cert-manager.io/v1, kind: Issuer, status: {conditions: [{type: Ready, status: "False"}]}}`)
	require.Equal(t, kstatus.Failed, kstatus.Extended().Compute(obj, now).Status)
	require.Equal(t, kstatus.BasisKind, kstatus.Extended().Compute(obj, now).Basis)
	r := kstatus.Extended().Without(issuer).Compute(obj, now)
	require.Equal(t, kstatus.InProgress, r.Status)
	require.Equal(t, kstatus.BasisConvention, r.Basis)
	require.Equal(t, kstatus.Failed, kstatus.Extended().Compute(obj, now).Status, "the profile stays as it is")

	flux := parse(t, `{apiVersion: source.toolkit.fluxcd.io/v1, kind: GitRepository, status: {conditions: [{type: Ready, status: "False"}]}}`)
	require.Equal(t, kstatus.Failed, kstatus.Extended().Compute(flux, now).Status)
	without := kstatus.Extended().Without(schema.GroupKind{Group: "*.toolkit.fluxcd.io", Kind: "*"})
	require.Equal(t, kstatus.InProgress, without.Compute(flux, now).Status)

	given := kstatus.Extended().With(map[schema.GroupKind]kstatus.Rule{issuer: func(kstatus.Object) (kstatus.Result, bool) {
		return kstatus.Current.Because("", "ours"), true
	}}).Without(issuer)
	require.Equal(t, "ours", given.Compute(obj, now).Message())
}
