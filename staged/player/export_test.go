package player

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// A Direct is a Player without goroutines: a test says what its watches show, what time its clock shows
// and when it decides.
type Direct struct{ p *Player }

// NewDirect returns a Player that has seen nothing yet.
func NewDirect(hub transport.Transport, o Options, clock func() time.Time) Direct {
	p := New(hub, o)
	p.wall = clock
	return Direct{p}
}

// Kinds returns the kinds that the Player reads.
func (d Direct) Kinds() (kinds []schema.GroupVersionKind) {
	for kind := range d.p.readers {
		kinds = append(kinds, kind)
	}
	return kinds
}

// Observe shows the Player an object, or its deletion.
func (d Direct) Observe(kind schema.GroupVersionKind, obj *unstructured.Unstructured, deleted, inList bool) {
	d.p.observe(watchEvent{kind: kind, obj: obj, deleted: deleted, inList: inList})
}

// Listed says that all objects of a kind were shown.
func (d Direct) Listed(kind schema.GroupVersionKind) {
	d.p.observe(watchEvent{kind: kind, listed: true})
}

// Decide makes the decisions that are due, if all kinds were listed.
func (d Direct) Decide(ctx context.Context) {
	if len(d.p.unsynced) == 0 {
		d.p.decide(ctx)
	}
}
