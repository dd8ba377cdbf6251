package cliutils

import (
	"context"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling/engine"
	"github.com/fluxcd/cli-utils/pkg/kstatus/polling/event"
	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/cli-utils/pkg/object"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/cliutils/internal/verdict"
)

// Options of a status reader. The zero value is the default.
type Options struct {
	Rules *kstatus.Rules // nil: [kstatus.Extended]

	// Supports says for which kinds cli-utils calls the reader; nil: for all. The others are left to the
	// readers of cli-utils.
	Supports func(schema.GroupKind) bool

	// TerminalOnly: an object is Failed only if it cannot recover; otherwise it is InProgress, with
	// the message of the failure.
	TerminalOnly bool

	// Basis is the least basis on which an object is Current; on a weaker one, such as a guess, it is
	// InProgress. 0: any. With a HoldOn, that ends when the object is so old; 0: never.
	Basis  kstatus.Basis
	HoldOn time.Duration

	Now func() time.Time // the time of verdicts; nil: time.Now
}

// NewStatusReader returns a status reader with the verdicts of rules, for Helm and Flux. The mapper
// finds the version of a kind. The reader is safe for concurrent use.
func NewStatusReader(mapper meta.RESTMapper, o Options) engine.StatusReader {
	return statusReader{verdict.NewReader(mapper, verdict.Options(o))}
}

type statusReader struct{ *verdict.Reader }

// Supports implements [engine.StatusReader].
func (r statusReader) Supports(kind schema.GroupKind) bool { return r.Options.Supports(kind) }

// ReadStatus implements [engine.StatusReader].
func (r statusReader) ReadStatus(ctx context.Context, c engine.ClusterReader, id object.ObjMetadata) (*event.ResourceStatus, error) {
	obj, missing := r.Find(ctx, c, id.GroupKind, types.NamespacedName{Namespace: id.Namespace, Name: id.Name})
	if obj == nil {
		return result(id, missing)
	}
	return r.ReadStatusForObject(ctx, c, obj)
}

// ReadStatusForObject implements [engine.StatusReader].
func (r statusReader) ReadStatusForObject(ctx context.Context, c engine.ClusterReader, obj *unstructured.Unstructured) (*event.ResourceStatus, error) {
	return result(object.UnstructuredToObjMetadata(obj), r.Judge(ctx, c, obj))
}

// result returns a verdict in the form of cli-utils. The end of a context is an error.
func result(id object.ObjMetadata, v verdict.Verdict) (*event.ResourceStatus, error) {
	if verdict.Ended(v.Err) {
		return nil, v.Err
	}
	out := &event.ResourceStatus{
		Identifier: id, Status: status.Status(v.Status), Resource: v.Object, Message: v.Message, Error: v.Err,
	}
	for _, child := range v.Children {
		c, err := result(object.UnstructuredToObjMetadata(child.Object), child)
		if err != nil {
			return nil, err
		}
		out.GeneratedResources = append(out.GeneratedResources, c)
	}
	return out, nil
}
