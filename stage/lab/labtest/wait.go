package labtest

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/kstatustest"
)

// RequireCurrent fails a test unless an object is Current in both profiles of package kstatus, and
// reports what its status lacks. It is kstatustest.RequireCurrent.
func RequireCurrent(t T, obj runtime.Object) {
	t.Helper()
	kstatustest.RequireCurrent(t, obj)
}

// WaitCurrent lets virtual time pass until objects are Current in both profiles of package kstatus,
// all at the same time. It uses only kind, namespace and name of the given objects. Without
// arguments it waits for all objects that were applied. It fails the test after Options.Timeout, or
// if nothing more will happen and Options.Sync is nil. The failure says what each object lacks,
// which of its children are not current, what [Lab.Explain] says about objects that have Stages,
// and the errors of controllers, each once.
func (l *Lab) WaitCurrent(objs ...runtime.Object) {
	l.t.Helper()
	refs := l.applied
	if len(objs) > 0 {
		refs = nil
	}
	for _, obj := range objs {
		u, err := kstatustest.Open(obj)
		l.must(err)
		refs = append(refs, referenceOf(u))
	}
	end, done := l.Now().Add(l.options.Timeout), func() bool { return l.allCurrent(refs) }
	for !l.playUntil(end, done) {
		if l.options.Sync == nil || !l.Now().Before(end) {
			l.t.Fatalf("labtest: %v", l.report(refs))
			return
		}
		l.pass(end) // a goroutine of Sync might have something to do
	}
}

// allCurrent moves an object that is not current to the front, so that it is checked first the next
// time.
func (l *Lab) allCurrent(refs []reference) bool {
	for i, ref := range refs {
		if obj, err := l.get(ref); err != nil || !current(obj) {
			refs[0], refs[i] = refs[i], refs[0]
			return false
		}
	}
	return true
}

func current(obj *unstructured.Unstructured) bool {
	created := obj.GetCreationTimestamp().Time
	return kstatus.Standard().Compute(obj, created).Status == kstatus.Current && kstatus.Extended().Compute(obj, created).Status == kstatus.Current
}

// report says why objects are not current.
func (l *Lab) report(refs []reference) error {
	var errs []error
	for _, ref := range refs {
		obj, err := l.get(ref)
		switch {
		case apierrors.IsNotFound(err):
			errs = append(errs, fmt.Errorf("%s is not there", ref))
		case err != nil:
			errs = append(errs, err)
		case !current(obj):
			errs = append(errs, fmt.Errorf("%w%s%s", kstatustest.Check(obj), l.childrenNotCurrent(obj), l.stagesFor(obj)))
		}
	}
	return errors.Join(append(errs, distinct(l.errors)...)...)
}
