package nodes

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/listwatch"
)

// follow keeps the roster as the cluster is. It looks at all Nodes, whatever the policy says: one that loses its label has not vanished.
func (r *Roster) follow(ctx context.Context) {
	source := listwatch.Source{Lister: r.cluster, Watcher: r.cluster, Kind: nodeKind}
	options := listwatch.Options{Retry: throttle, Longest: 30 * time.Second, Timeout: 30 * time.Second}
	listwatch.Run(ctx, source, options, r.heard)
}

// heard takes in what was seen of Nodes. Only names, uids and what the policy says are kept of them.
func (r *Roster) heard(e listwatch.Event) {
	if e.Err != nil {
		r.options.Failed(fmt.Errorf("nodes: follow Nodes: %w", e.Err))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e.Type {
	case listwatch.Updated:
		r.see(e.Object)
	case listwatch.Deleted:
		r.miss(e.Object.GetName())
	case listwatch.ListStarted:
		r.round++
	case listwatch.Listed:
		r.compare()
	}
}

// see takes in the state of a Node.
func (r *Roster) see(obj *unstructured.Unstructured) {
	n := r.nodes[obj.GetName()]
	isNew := n == nil
	if isNew {
		n = &node{name: obj.GetName()}
		r.nodes[n.name] = n
	}
	wasManaged := n.managed
	n.uid, n.round = obj.GetUID(), r.round
	n.managed, n.owned = r.rules.Manages(obj), r.options.Owns(obj)
	if isNew || n.managed != wasManaged {
		r.tell()
	}
	r.enlist(n, time.Now())
}

// miss takes in that there is no Node of a name.
func (r *Roster) miss(name string) {
	n := r.nodes[name]
	if n == nil {
		return
	}
	delete(r.nodes, name)
	r.agenda.remove(n)
	if _, certain := r.rules.certain(name); !certain && n.managed {
		r.gone.add(name)
	}
	r.tell()
}

// compare finds the Nodes that a list no longer shows.
func (r *Roster) compare() {
	for name, n := range r.nodes {
		if n.round != r.round {
			r.miss(name)
		}
	}
	r.listed = true
	r.tell()
}
