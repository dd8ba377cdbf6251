package wait

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// ErrInvalid says that a wait did not begin: a reference cannot name an object, or the policy is
// not valid. The error that wraps it has a line for each fault.
var ErrInvalid = errors.New("cannot wait")

// faults are the faults of the arguments, a line for each.
type faults []string

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }

func (f faults) err() error {
	if len(f) == 0 {
		return nil
	}
	return fmt.Errorf("%w:\n  %s", ErrInvalid, strings.Join(f, "\n  "))
}

// check returns all faults of the arguments of a wait.
func check(cluster transport.Lister, refs []Ref, p Policy) error {
	f := faultsOf(refs, p)
	if cluster == nil {
		f.add("no transport")
	}
	return f.err()
}

func faultsOf(refs []Ref, p Policy) (f faults) {
	asked := make(map[Ref]bool, len(refs))
	for i, ref := range refs {
		asked[ref] = true
		for _, fault := range ref.faults() {
			f.add("refs[%d] %q: %s", i, ref, fault)
		}
	}
	f.notNegative("policy.Interval", p.Interval)
	f.notNegative("policy.Retry", p.Retry)
	f.goal("policy.Goal", p.Goal)
	for _, ref := range slices.SortedFunc(maps.Keys(p.Goals), compare) {
		path := fmt.Sprintf("policy.Goals[%q]", ref)
		if f.goal(path, p.Goals[ref]); !asked[ref] {
			f.add("%s: the object is not waited for", path)
		}
	}
	return f
}

func compare(a, b Ref) int {
	return cmp.Or(cmp.Compare(a.Kind.String(), b.Kind.String()), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// faults returns the reasons for which no such object can exist. Whether the kind has namespaces is
// only known when an object of the kind is seen.
func (r Ref) faults() (f faults) {
	required := []struct{ what, text string }{
		{"kind", r.Kind.Kind}, {"version", r.Kind.Version}, {"name", r.Name},
	}
	for _, part := range required {
		if part.text == "" {
			f.add("no %s", part.what)
		}
	}
	if r.Name == "." || r.Name == ".." || strings.ContainsAny(r.Name, "/%") {
		f.add("no object can have the name %q", r.Name)
	}
	if r.Namespace != "" && len(validation.IsDNS1123Label(r.Namespace)) > 0 {
		f.add("no namespace can have the name %q", r.Namespace)
	}
	return f
}

func (f *faults) notNegative(path string, d time.Duration) {
	if d < 0 {
		f.add("%s: %v is negative", path, d)
	}
}

// goals are the statuses for which a wait is possible.
var goals = []kstatus.Status{kstatus.Current, kstatus.NotFound, kstatus.InProgress, kstatus.Failed, kstatus.Terminating}

func (f *faults) goal(path string, g Goal) {
	if !slices.Contains(goals, g.wanted()) {
		f.add("%s.Status: %q is none of %q", path, g.Status, goals)
	}
	if g.Basis > kstatus.BasisKind {
		f.add("%s.Basis: there is no basis %d", path, g.Basis)
	}
	if g.HoldOn > 0 && g.Basis == 0 {
		f.add("%s.HoldOn: nothing is held without a Basis", path)
	}
	f.notNegative(path+".HoldOn", g.HoldOn)
	f.notNegative(path+".Timeout", g.Timeout)
	f.notNegative(path+".MissingTimeout", g.MissingTimeout)
}
