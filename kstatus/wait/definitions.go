package wait

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// definitions are the rules with what a transport knows of kinds. Each kind is looked up at most
// once. One that cannot be looked up changes no verdict.
type definitions struct {
	ctx    context.Context
	reader kstatus.DefinitionReader
	rules  map[schema.GroupVersionKind]*kstatus.Rules // nil: nothing is known of the kind
}

// definitionsOf returns nil if the transport knows nothing of kinds.
func definitionsOf(ctx context.Context, cluster transport.Lister) *definitions {
	reader, ok := cluster.(kstatus.DefinitionReader)
	if !ok {
		return nil
	}
	return &definitions{ctx, reader, map[schema.GroupVersionKind]*kstatus.Rules{}}
}

// definitionTimeout is how long the wait stands still at most while a definition is read.
const definitionTimeout = 10 * time.Second

// rulesOf returns the rules with the definition of a kind, or nil.
func (d *definitions) rulesOf(kind schema.GroupVersionKind, rules *kstatus.Rules) *kstatus.Rules {
	defined, known := d.rules[kind]
	if !known {
		ctx, cancel := context.WithTimeout(d.ctx, definitionTimeout)
		defer cancel()
		if crd, err := d.reader.Definition(ctx, kind); err == nil && crd != nil {
			defined = rules.WithDefinitions(crd)
		}
		d.rules[kind] = defined
	}
	return defined
}

// compute returns the verdict of the rules on an object, with the definition of its kind if that can
// say more.
func (t *tracker) compute(obj *unstructured.Unstructured, now time.Time) kstatus.Result {
	rules := t.options.Rules
	own := rules.Compute(obj, now)
	if t.definitions == nil || !rules.DependsOnDefinition(own) {
		return own
	}
	if defined := t.definitions.rulesOf(obj.GroupVersionKind(), rules); defined != nil {
		return defined.Compute(obj, now)
	}
	return own
}
