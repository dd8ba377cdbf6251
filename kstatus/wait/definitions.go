package wait

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// definitions are what a transport knows of kinds, each read at most once.
type definitions struct {
	ctx    context.Context
	reader kstatus.DefinitionReader
	read   map[schema.GroupVersionKind]*unstructured.Unstructured // nil: none, or it could not be read
}

// definitionsOf returns nil if the transport knows nothing of kinds.
func definitionsOf(ctx context.Context, cluster transport.Lister) *definitions {
	reader, ok := cluster.(kstatus.DefinitionReader)
	if !ok {
		return nil
	}
	return &definitions{ctx, reader, map[schema.GroupVersionKind]*unstructured.Unstructured{}}
}

// definitionTimeout is how long the wait stands still at most while a definition is read.
const definitionTimeout = 10 * time.Second

// Definition implements [kstatus.DefinitionReader]. It hides errors, since a definition that cannot
// be read changes no verdict.
func (d *definitions) Definition(_ context.Context, kind schema.GroupVersionKind) (*unstructured.Unstructured, error) {
	crd, known := d.read[kind]
	if !known {
		ctx, cancel := context.WithTimeout(d.ctx, definitionTimeout)
		defer cancel()
		if found, err := d.reader.Definition(ctx, kind); err == nil {
			crd = found
		}
		d.read[kind] = crd
	}
	return crd, nil
}

// refine returns a verdict that may say more than that of the rules.
func (d *definitions) refine(obj *unstructured.Unstructured, own kstatus.Result) kstatus.Result {
	if d == nil {
		return own
	}
	own, _ = kstatus.WithDefinition(d.ctx, d, obj, own)
	return own
}
