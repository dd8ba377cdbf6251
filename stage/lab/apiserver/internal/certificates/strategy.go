package certificates

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/attributes"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// Kind is the kind of the requests.
var Kind = schema.GroupVersionKind{Group: "certificates.k8s.io", Version: "v1", Kind: "CertificateSigningRequest"}

var requests = schema.GroupResource{Group: "certificates.k8s.io", Resource: "certificatesigningrequests"}

// The types of conditions that have rules of their own.
const (
	approved = "Approved"
	denied   = "Denied"
	failed   = "Failed"
)

// Hooks returns hooks that do what the strategies of kube-apiserver do as it stores a request.
func Hooks() memory.Hooks {
	return memory.Hooks{Name: "certificates", Admit: admit, Validate: validate}
}

func admit(v *memory.Review) error {
	if v.Resource != requests || v.New == nil {
		return nil
	}
	switch {
	case v.Old == nil:
		nameUser(v)
	case attributes.SubresourceOf(v) == "approval":
		approveOnly(v)
	case v.Subresource == "status":
		keepApproval(v)
	default: // only the metadata of a request can change
		keep(v.New.Object, v.Old.Object, "spec")
	}
	return nil
}

// keep gives an object a field of another.
func keep(next, before map[string]any, name string) {
	if value, has := before[name]; has {
		next[name] = value
	} else {
		delete(next, name)
	}
}

// nameUser writes into a new request who asks.
func nameUser(v *memory.Review) {
	spec := maps.Clone(fieldsOf(v.New.Object["spec"]))
	if spec == nil {
		return // refused as invalid
	}
	for _, name := range []string{"username", "uid", "groups", "extra"} {
		delete(spec, name)
	}
	u := attributes.UserOf(v)
	for name, text := range map[string]string{"username": u.GetName(), "uid": u.GetUID()} {
		if text != "" {
			spec[name] = text
		}
	}
	if groups := texts(u.GetGroups()); len(groups) > 0 {
		spec["groups"] = groups
	}
	extra := map[string]any{}
	for name, values := range u.GetExtra() {
		extra[name] = texts(values)
	}
	if len(extra) > 0 {
		spec["extra"] = extra
	}
	v.New.Object["spec"] = spec
}

// approveOnly limits the approval of a request to its conditions.
func approveOnly(v *memory.Review) {
	status := maps.Clone(fieldsOf(v.Old.Object["status"]))
	if status == nil {
		status = map[string]any{}
	}
	keep(status, map[string]any{"conditions": stamped(v)}, "conditions")
	v.New.Object["status"] = status
}

// keepApproval keeps what approvers said, if a signer does not add or remove conditions of theirs.
func keepApproval(v *memory.Review) {
	status, before, next := maps.Clone(fieldsOf(v.New.Object["status"])), conditions(v.Old.Object), slices.Clone(conditions(v.New.Object))
	if len(next) == 0 {
		return
	}
	for _, kind := range []string{approved, denied} {
		from, to := positions(before, kind), positions(next, kind)
		if len(from) != len(to) {
			continue
		}
		for i := range from {
			next[to[i]] = before[from[i]]
		}
	}
	status["conditions"] = next
	v.New.Object["status"] = status
	status["conditions"] = stamped(v)
}

// stamped returns the conditions of a request with times: since when the condition has its status, and
// when it was written.
func stamped(v *memory.Review) []any {
	now := v.Time.UTC().Format(time.RFC3339)
	next := slices.Clone(conditions(v.New.Object))
	for i := range next {
		c := maps.Clone(fieldsOf(next[i]))
		if c == nil {
			continue // refused as invalid
		}
		if c["lastUpdateTime"] == nil {
			c["lastUpdateTime"] = now
		}
		if c["lastTransitionTime"] == nil {
			c["lastTransitionTime"] = since(conditions(v.Old.Object), c, now)
		}
		next[i] = c
	}
	return next
}

// since returns when a condition got its status; now if it is new.
func since(before []any, c map[string]any, now string) any {
	for _, old := range before {
		o := fieldsOf(old)
		if o["type"] == c["type"] && o["status"] == c["status"] && o["lastTransitionTime"] != nil {
			return o["lastTransitionTime"]
		}
	}
	return now
}

// positions returns where the conditions of a type are in a list.
func positions(conditions []any, kind string) (found []int) {
	for i, c := range conditions {
		if fieldsOf(c)["type"] == kind {
			found = append(found, i)
		}
	}
	return found
}

func conditions(request map[string]any) []any {
	list, _ := fieldsOf(request["status"])["conditions"].([]any)
	return list
}

func fieldsOf(value any) map[string]any {
	m, _ := value.(map[string]any)
	return m
}

func texts(list []string) []any {
	all := make([]any, len(list))
	for i, s := range list {
		all[i] = s
	}
	return all
}
