package labtest_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
)

// A logT is a T that remembers the output of a lab at the end of a test.
type logT struct {
	testing.TB
	cleanups       []func()
	logged, failed string
}

func (t *logT) Cleanup(f func()) { t.cleanups = append(t.cleanups, f) }

func (t *logT) Logf(format string, args ...any) { t.logged += fmt.Sprintf(format, args...) }

func (t *logT) Errorf(format string, args ...any) { t.failed += fmt.Sprintf(format, args...) }

func (t *logT) end() {
	for _, f := range t.cleanups {
		f()
	}
}

const unmodelled = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 3, selector: {matchLabels: {a: b}},
  template: {metadata: {labels: {a: b}}, spec: {serviceAccountName: robot, containers: [{name: c, image: i}]}}}}`

func TestWhatIsNotModelledIsTold(t *testing.T) {
	for _, strict := range []bool{false, true} {
		spy := &logT{TB: t}
		lab := labtest.New(spy, labtest.Options{Strict: strict})
		lab.Apply(unmodelled)
		lab.WaitCurrent()
		require.Len(t, lab.NotModelled(), 2, "the field has an older name, which the API server fills in")
		spy.end()
		said, silent := spy.logged, spy.failed
		if strict {
			said, silent = silent, said
		}
		require.Contains(t, said, "Pod spec.serviceAccountName: not modelled: the ServiceAccount has to exist; here read by the server of stage/lab/apiserver with its option ServiceAccounts, which does the same (3 objects, first default/web-")
		require.Empty(t, silent)
	}
}

// A lab in which everything is modelled logs nothing.
func TestALabWithoutSurprisesSaysNothing(t *testing.T) {
	spy := &logT{TB: t}
	lab := labtest.New(spy, labtest.Options{Strict: true})
	lab.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}`)
	lab.WaitCurrent()
	spy.end()
	require.Empty(t, spy.logged+spy.failed)
}
