// Package upstream gives the rules of package kstatus to programs that use sigs.k8s.io/cli-utils. It
// is package cliutils with the types of that module.
package upstream

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/cli-utils/pkg/kstatus/polling/engine"
	"sigs.k8s.io/cli-utils/pkg/kstatus/polling/event"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/cli-utils/pkg/object"

	"github.com/stagecraft-go/stagecraft/kstatus/cliutils"
	"github.com/stagecraft-go/stagecraft/kstatus/cliutils/internal/verdict"
)

// NewStatusReader returns a status reader with the verdicts of rules, as [cliutils.NewStatusReader]
// does. The reader is safe for concurrent use.
func NewStatusReader(mapper meta.RESTMapper, o cliutils.Options) engine.StatusReader {
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
