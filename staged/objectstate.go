package staged

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
)

// An objectState is an object and the results that were computed from it. A result is nil if it was
// not asked for yet.
type objectState struct {
	*fleet.Object

	filtered *finding      // the result of the filter
	result   *objectResult // the result of everything else
	resultAt time.Time
	fields   map[string]any // of Combined, as expressions see it
}

// statusFields returns the CombinedStatus as KubeStellar's own client shows it to expressions:
// without apiVersion and kind, and without empty fields.
func (o *objectState) statusFields() (map[string]any, error) {
	if o.fields != nil {
		return o.fields, nil
	}
	bare := *o.Combined
	bare.APIVersion, bare.Kind = "", ""
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&bare)
	if err == nil {
		o.fields = fields
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
