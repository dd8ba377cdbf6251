package labtest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

// childrenNotCurrent lists the children of an object that are not current, and the children below
// them. Children are the objects that count for its verdict. Without any, as for a custom resource,
// they are the objects that it owns.
func (l *Lab) childrenNotCurrent(obj *unstructured.Unstructured) string {
	_, children, err := kstatus.Extended().Inspect(context.Background(), l.Cluster(), obj, l.Now())
	var b strings.Builder
	for _, c := range children {
		if c.Object != nil && c.Result.Status != kstatus.Current {
			fmt.Fprintf(&b, "\n  %s: %s%s", referenceOf(c.Object), c.Result, l.stagesFor(c.Object))
		}
	}
	if err != nil {
		fmt.Fprintf(&b, "\n  %v", err)
	}
	if len(children) == 0 {
		l.describeOwned(&b, obj.GetUID(), []types.UID{obj.GetUID()})
	}
	return b.String()
}

// describeOwned writes the objects of an owner that are not current, each followed by the objects
// that it owns itself. It leaves out owners that were seen before.
func (l *Lab) describeOwned(b *strings.Builder, owner types.UID, seen []types.UID) {
	for _, kind := range l.Cluster().Kinds() {
		list, err := l.Cluster().List(context.Background(), kind.GroupVersionKind, "", metav1.ListOptions{})
		if err != nil {
			continue // a kind that cannot be listed has no objects here
		}
		for i := range list.Items {
			obj := &list.Items[i]
			if !owns(owner, obj) || slices.Contains(seen, obj.GetUID()) {
				continue
			}
			if r := kstatus.Extended().Compute(obj, l.Now()); r.Status != kstatus.Current {
				fmt.Fprintf(b, "\n  %s: %s%s", referenceOf(obj), r, l.stagesFor(obj))
			}
			l.describeOwned(b, obj.GetUID(), append(seen, obj.GetUID()))
		}
	}
}

func owns(owner types.UID, obj *unstructured.Unstructured) bool {
	return slices.ContainsFunc(obj.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == owner })
}

// distinct returns the errors of controllers and Stages, each once, with its count.
func distinct(all []error) (out []error) {
	times := map[string]int{}
	for _, err := range all {
		times[err.Error()]++
	}
	for _, err := range all {
		n := times[err.Error()]
		times[err.Error()] = 0
		switch {
		case n > 1:
			out = append(out, fmt.Errorf("%w (%d times)", err, n))
		case n == 1:
			out = append(out, err)
		}
	}
	return out
}
