package harnesses_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
)

// A spy is a T that keeps what a lab says at its end.
type spy struct {
	testing.TB
	cleanups []func()
	faults   string
}

func (s *spy) Cleanup(f func()) { s.cleanups = append(s.cleanups, f) }

func (s *spy) Errorf(format string, args ...any) { s.faults += fmt.Sprintf(format, args...) }

const admission = `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: w}, webhooks: [{name: w.x.io,
  admissionReviewVersions: [v1], sideEffects: None, failurePolicy: Ignore, clientConfig: {url: "https://127.0.0.1:1/"},
  rules: [{apiGroups: [x.io], apiVersions: [v1], operations: [CREATE], resources: [pots]}]}]}
---
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: p}, spec: {
  matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]},
  validations: [{expression: "object.spec.replicas < 5"}]}}
---
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: b}, spec: {policyName: p, validationActions: [Deny]}}
`

// TestAStrictLabIsRightBehindTheServer checks that a strict lab fails for what it does not model, and not
// for what the server of its cluster does.
func TestAStrictLabIsRightBehindTheServer(t *testing.T) {
	const roles = "\n---\n{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: r}}"
	for name, c := range map[string]struct {
		isServed bool
		manifest string
		faults   []string
	}{
		"lab":                        {false, admission, []string{"ValidatingWebhookConfiguration: ", "ValidatingAdmissionPolicy: ", "ValidatingAdmissionPolicyBinding: "}},
		"server over a lab":          {true, definition + "\n---\n" + admission, nil},
		"server over a lab, missing": {true, admission + roles, []string{"Role: not modelled"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &spy{TB: t}
			lab := labtest.New(s, labtest.Options{Strict: true})
			if c.isServed {
				apiserver.Start(t, lab.Cluster(), apiserver.Options{})
			}
			lab.Apply(c.manifest)
			lab.Settle()
			for _, f := range s.cleanups {
				f()
			}
			for _, want := range c.faults {
				require.Contains(t, s.faults, want)
			}
			if !c.isServed || c.faults == nil {
				require.Equal(t, c.faults == nil, s.faults == "", s.faults)
				return
			}
			require.NotContains(t, s.faults, "Admission")
			require.NotContains(t, s.faults, "Webhook")
		})
	}
}
