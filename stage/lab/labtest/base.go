package labtest

import (
	"slices"
	"sync"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/definitions"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// A Base is what labs with the same options have in common: compiled Stages, and a cluster with the
// objects of a new lab. A lab that is made from a Base behaves like one made by [New] and begins
// much sooner. A Base is immutable and safe for concurrent use.
type Base struct {
	options Options
	set     *stage.Set
	schemas *definitions.Index
	cluster *memory.Cluster
	parsed  sync.Map // manifests that were applied, by their text
}

// Prepare returns a base for labs with these options. It refuses options with controllers:
// controllers often keep state, so each lab gets its own in [Base.New], or by Options.Operator.
func Prepare(t T, o Options) *Base {
	t.Helper()
	if len(o.Controllers) > 0 {
		t.Fatalf("labtest: Prepare: Controllers are given to each lab, see Base.New")
	}
	first := o
	first.Quiet, first.Failures, first.Operator = true, nil, nil // these options take effect in each lab, which also has its own controllers
	l := New(silent{t}, first)
	defer l.sim.Close()
	if o.Start.IsZero() {
		o.Start = l.Now()
	}
	o.Stages = l.options.Stages
	return &Base{options: o, set: l.set, schemas: l.schemas, cluster: l.Cluster().Fork()}
}

// New returns a lab with some more controllers.
func (b *Base) New(t T, controllers ...reconcile.Controller) *Lab {
	t.Helper()
	o := b.options
	o.Controllers = slices.Clone(controllers)
	return newLab(t, o, b)
}

// parse returns the manifest of a text.
func (b *Base) parse(text string) (*manifest, error) {
	if m, ok := b.parsed.Load(text); ok {
		return m.(*manifest), nil
	}
	m, err := parseManifest(text)
	if err == nil {
		b.parsed.Store(text, m)
	}
	return m, err
}

// silent is a T that has no clean-up.
type silent struct{ T }
