package staged

import (
	"cmp"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/stagecraft-go/stagecraft/staged/control"
)

// objectOf returns the object that a CombinedStatus is about: its labels name it.
func objectOf(s *control.CombinedStatus) ObjectRef {
	label := func(name string) string { return s.Labels[control.StatusLabelPrefix+name] }
	return ObjectRef{label("api-group"), label("resource"), label("namespace"), label("name")}
}

// isForged reports whether a CombinedStatus is in another namespace than its labels say.
func isForged(s *control.CombinedStatus) bool {
	return s.Namespace != "" && s.Namespace != cmp.Or(objectOf(s).Namespace, control.ReportNamespace)
}

// An objectState is what was observed of one object under one BindingPolicy, and the results that
// were computed from it. A result is nil if something has changed since.
type objectState struct {
	ref      ObjectRef
	clause   *control.DownsyncClause   // nil: the object is not in the Binding
	statuses []*control.CombinedStatus // mostly one; that of a deleted BindingPolicy of the same name may still exist
	clusters []ClusterReport
	reported bool // whether clusters are known

	filtered *finding      // the result of the filter
	result   *objectResult // the result of everything else
	resultAt time.Time
	fields   map[string]any // fieldsOf as expressions see it
	fieldsOf *control.CombinedStatus
}

func (o *objectState) bind(c *control.DownsyncClause) {
	if o.clause == nil || !reflect.DeepEqual(*o.clause, *c) {
		o.filtered, o.result = nil, nil
	}
	o.clause = c
}

func (o *objectState) addStatus(s *control.CombinedStatus) {
	o.removeStatus(s.Name)
	o.statuses = append(o.statuses, s)
}

func (o *objectState) removeStatus(name string) {
	for i, s := range o.statuses {
		if s.Name == name {
			o.statuses = append(o.statuses[:i:i], o.statuses[i+1:]...)
			return
		}
	}
}

// status returns the CombinedStatus under the BindingPolicy with this uid; nil if there is none, or
// more than one: then only one of them is KubeStellar's.
func (o *objectState) status(bindingPolicy string) (found *control.CombinedStatus) {
	for _, s := range o.statuses {
		if !strings.HasSuffix(s.Name, "."+bindingPolicy) {
			continue
		}
		if found != nil {
			return nil
		}
		found = s
	}
	return found
}

// statusFields returns a CombinedStatus as KubeStellar's own client shows it to expressions:
// without apiVersion and kind, and without empty fields.
func (o *objectState) statusFields(s *control.CombinedStatus) (map[string]any, error) {
	if o.fieldsOf == s {
		return o.fields, nil
	}
	bare := *s
	bare.APIVersion, bare.Kind = "", ""
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&bare)
	if err == nil {
		o.fields, o.fieldsOf = fields, s
	}
	return fields, err
}

// clauseFields returns a clause as filters see it. Every field is present, so that comparing one
// never fails.
func clauseFields(c *control.DownsyncClause) map[string]any {
	collectors := make([]any, len(c.StatusCollectors))
	for i, name := range c.StatusCollectors {
		collectors[i] = name
	}
	return map[string]any{
		"group": c.Group, "version": c.Version, "resource": c.Resource, "namespace": c.Namespace, "name": c.Name,
		"resourceVersion": c.ResourceVersion, "createOnly": c.CreateOnly, "statusCollectors": collectors,
		"wantSingletonReportedState": c.WantSingletonReportedState, "wantMultiWECReportedState": c.WantMultiWECReportedState,
	}
}
