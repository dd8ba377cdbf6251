package memory

import (
	"maps"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Fork returns a handle on a new cluster with the same objects and [Options]. Later writes to one
// cluster do not change the other. Watches of this cluster do not report events of the new cluster.
// A watch of the new cluster cannot begin at an earlier version. The cost grows with the number of
// kinds and objects, not with their size, because stored objects never change and are shared.
func (c *Cluster) Fork() *Cluster {
	c.mu.Lock() // not RLock: sorting a table changes it
	defer c.mu.Unlock()
	return &Cluster{store: c.fork(), user: c.user, shared: c.shared}
}

// ForkAs is Fork with the Seed and Trace of o, and its Now if it is not nil. Other options and the
// hooks are the same as in this cluster; [Cluster.Extend] replaces hooks of the same name.
func (c *Cluster) ForkAs(o Options) *Cluster {
	next := c.Fork()
	next.options.Seed, next.options.Trace = o.Seed, o.Trace
	if o.Now != nil {
		next.options.Now = o.Now
	}
	return next
}

// copies map the parts of a store that was forked to their copies.
type copies struct {
	tables  map[*table]*table
	kinds   map[*kind]*kind
	records map[*record]*record
}

func (s *store) fork() *store {
	to := copies{make(map[*table]*table, len(s.tables)), make(map[*kind]*kind, len(s.kinds)), map[*record]*record{}}
	next := &store{
		options:   s.options,
		version:   s.version,
		contents:  maps.Clone(s.contents),
		generated: s.generated.clone(),
		pages:     s.pages,
		interner:  newInterner(),
		hooks:     s.hooks,
		tracks:    s.tracks,
	}
	next.tables, next.kinds = to.layout(s)
	for _, t := range s.tables {
		to.objects(t)
	}
	next.dependents = make(map[types.UID]map[*record]struct{}, len(s.dependents))
	for owner, records := range s.dependents {
		next.dependents[owner] = to.set(records)
	}
	next.terminated = to.set(s.terminated)
	next.absent, next.expiries = maps.Clone(s.absent), to.expiries(s.expiries)
	for _, c := range s.garbage {
		if c.record = to.records[c.record]; c.record != nil {
			next.garbage = append(next.garbage, c)
		}
	}
	return next
}

// layout copies the kinds and the tables that they refer to, without the objects.
func (to copies) layout(s *store) (map[schema.GroupResource]*table, map[schema.GroupVersionKind]*kind) {
	tables := make(map[schema.GroupResource]*table, len(s.tables))
	for at, t := range s.tables {
		next := &table{resource: at, name: t.name, log: log{keep: s.options.History, version: s.version}, packFrom: s.options.packFrom}
		next.apiVersion, next.incarnations = t.apiVersion, t.incarnations.clone()
		tables[at], to.tables[t] = next, next
	}
	kinds := make(map[schema.GroupVersionKind]*kind, len(s.kinds))
	all := make([]kind, 0, len(s.kinds))
	for gvk, k := range s.kinds {
		all = append(all, *k)
		next := &all[len(all)-1]
		next.table = to.tables[k.table]
		kinds[gvk], to.kinds[k] = next, next
	}
	return tables, kinds
}

// objects copies the records of a table.
func (to copies) objects(t *table) {
	next := to.tables[t]
	if len(t.records) > 0 {
		next.records = make(map[types.NamespacedName]*record, len(t.records))
	}
	for _, r := range t.sorted() {
		c := &record{kind: to.kindOf(r.kind), key: r.key, slot: r.slot, examined: r.examined}
		to.records[r], next.records[c.key] = c, c
		next.order = append(next.order, c)
	}
}

// kindOf returns the copy of a kind. If a new definition has replaced the kind since an object was
// stored, kindOf makes the copy.
func (to copies) kindOf(k *kind) *kind {
	if to.kinds[k] == nil {
		next := *k
		next.table = to.tables[k.table]
		to.kinds[k] = &next
	}
	return to.kinds[k]
}

func (to copies) set(records map[*record]struct{}) map[*record]struct{} {
	next := make(map[*record]struct{}, len(records))
	for r := range records {
		next[to.records[r]] = struct{}{}
	}
	return next
}
