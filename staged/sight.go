package staged

import (
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/stagecraft-go/stagecraft/staged/control"
)

const labelPrefix = "status.kubestellar.io/"

// objectOf names the object of a CombinedStatus.
func objectOf(s *control.CombinedStatus) ObjectRef {
	l := s.Labels
	return ObjectRef{l[labelPrefix+"api-group"], l[labelPrefix+"resource"], l[labelPrefix+"namespace"], l[labelPrefix+"name"]}
}

// A sight is what was seen of one object under one BindingPolicy. It is the memory of verdicts, too: nil where something has changed since.
type sight struct {
	ref      ObjectRef
	clause   *control.DownsyncClause
	statuses []*control.CombinedStatus // mostly one; that of a policy which had the name before may still be there
	clusters []ClusterReport
	reported bool // whether clusters are known

	kept    *answer
	verdict *verdict
	input   map[string]any // the status as expressions see it
	of      *control.CombinedStatus
}

func (o *sight) bind(c *control.DownsyncClause) {
	if o.clause == nil || !reflect.DeepEqual(*o.clause, *c) {
		o.kept, o.verdict = nil, nil
	}
	o.clause = c
}

func (o *sight) see(s *control.CombinedStatus) {
	o.unsee(s.Name)
	o.statuses = append(o.statuses, s)
}

func (o *sight) unsee(name string) {
	for i, s := range o.statuses {
		if s.Name == name {
			o.statuses = append(o.statuses[:i:i], o.statuses[i+1:]...)
			return
		}
	}
}

// status is that under a policy of this uid.
func (o *sight) status(policy string) *control.CombinedStatus {
	for _, s := range o.statuses {
		if strings.HasSuffix(s.Name, "."+policy) {
			return s
		}
	}
	return nil
}

// fields is a CombinedStatus as KubeStellar's own client shows it to expressions: without apiVersion and kind, absent what is empty.
func (o *sight) fields(s *control.CombinedStatus) (map[string]any, error) {
	if o.of == s {
		return o.input, nil
	}
	bare := *s
	bare.APIVersion, bare.Kind = "", ""
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&bare)
	if err == nil {
		o.input, o.of = fields, s
	}
	return fields, err
}

// clauseFields is a clause as filters see it. Every field is there, so that comparisons do not fail.
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
