// Package gomega has matchers for tests that use Gomega. They match the status of objects, as
// package kstatus computes it.
//
// # Usage
//
//	import . "github.com/stagecraft-go/stagecraft/stage/lab/gomega"
//
//	Expect(deployment).To(BeCurrent())
//	Eventually(komega.Object(deployment)).Should(BeCurrent())
//	Consistently(get).ShouldNot(BeFailed())
//	Expect(pod).To(HaveStatus(kstatus.InProgress))
//
// The actual value is a runtime.Object: *unstructured.Unstructured, or a Go type such as
// *appsv1.Deployment, whose kind may be empty if it is a type of Kubernetes. Anything else is an
// error. A failure says what the status lacks, one field on each line.
//
// In virtual time, polling does not help: use Lab.WaitCurrent, or call Lab.Advance in each poll.
//
// # Concurrency
//
// A matcher must be used by one assertion only.
package gomega

import (
	"fmt"
	"slices"
	"strings"

	"github.com/onsi/gomega/types"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/kstatustest"
)

// BeCurrent matches objects that are Current in both profiles of package kstatus, see
// kstatustest.Check.
func BeCurrent() types.GomegaMatcher {
	return &matcher{to: "be Current", match: func(obj runtime.Object) (bool, string, error) {
		_, about, err := compute(obj)
		if err != nil {
			return false, "", err
		}
		if lacks := kstatustest.Check(obj); lacks != nil {
			return false, lacks.Error(), nil
		}
		return true, about, nil
	}}
}

// BeFailed matches objects that are Failed in the extended profile: the standard one calls many of
// them InProgress.
func BeFailed() types.GomegaMatcher { return HaveStatus(kstatus.Failed) }

// HaveStatus matches objects that have one of some statuses in the extended profile of package
// kstatus.
func HaveStatus(want ...kstatus.Status) types.GomegaMatcher {
	names := make([]string, len(want))
	for i, s := range want {
		names[i] = string(s)
	}
	to := "be " + strings.Join(names, " or ")
	return &matcher{to: to, match: func(obj runtime.Object) (bool, string, error) {
		status, about, err := compute(obj)
		return err == nil && slices.Contains(want, status), about, err
	}}
}

// compute returns the status of an object in the extended profile, and a line that describes it. It
// uses the creation time as the current time, because an object whose status depends on its age is
// not settled at that time.
func compute(obj runtime.Object) (kstatus.Status, string, error) {
	u, err := kstatustest.Open(obj)
	if err != nil {
		return "", "", err
	}
	r := kstatus.Extended().Compute(u, u.GetCreationTimestamp().Time)
	return r.Status, fmt.Sprintf("%s %s is %s", u.GetKind(), u.GetName(), r), nil
}

// A matcher is a types.GomegaMatcher. It keeps the description of its last match.
type matcher struct {
	to    string
	match func(runtime.Object) (bool, string, error)
	about string
}

func (m *matcher) Match(actual any) (bool, error) {
	obj, ok := actual.(runtime.Object)
	if !ok {
		return false, fmt.Errorf("expected an object of Kubernetes (runtime.Object), not a %T", actual)
	}
	matched, about, err := m.match(obj)
	m.about = about
	return matched, err
}

func (m *matcher) FailureMessage(any) string {
	return fmt.Sprintf("Expected an object to %s\n%s", m.to, m.about)
}

func (m *matcher) NegatedFailureMessage(any) string {
	return fmt.Sprintf("Expected an object not to %s\n%s", m.to, m.about)
}
