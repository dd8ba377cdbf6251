package memory

import (
	"maps"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Fork returns a handle on a new cluster that is as this one is now; from then on each goes its own
// way, by the same [Options]. No watch of this cluster sees the new one, and none of the new one
// begins at an earlier version. The cost is that of the number of kinds and objects, not of their
// size, because stored objects never change.
func (c *Cluster) Fork() *Cluster {
	c.mu.Lock() // not RLock: sorting a table changes it
	defer c.mu.Unlock()
	return &Cluster{store: c.fork(), user: c.user, shared: c.shared}
}

// copies say what became of the parts of a store that was forked.
type copies struct {
	tables  map[*table]*table
	kinds   map[*kind]*kind
	records map[*record]*record
}

func (s *store) fork() *store {
	to := copies{map[*table]*table{}, map[*kind]*kind{}, map[*record]*record{}}
	next := &store{
		options:   s.options,
		version:   s.version,
		contents:  maps.Clone(s.contents),
		generated: maps.Clone(s.generated),
		pages:     s.pages,
		interner:  newInterner(),
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
	return next
}

// layout copies the tables, still empty, and the kinds that refer to them.
func (to copies) layout(s *store) (map[schema.GroupResource]*table, map[schema.GroupVersionKind]*kind) {
	tables := make(map[schema.GroupResource]*table, len(s.tables))
	for at, t := range s.tables {
		tables[at] = newTable(at, s.options)
		tables[at].apiVersion = t.apiVersion
		tables[at].incarnations = maps.Clone(t.incarnations)
		tables[at].log.version = s.version
		to.tables[t] = tables[at]
	}
	kinds := make(map[schema.GroupVersionKind]*kind, len(s.kinds))
	for gvk, k := range s.kinds {
		next := *k
		next.table = to.tables[k.table]
		kinds[gvk], to.kinds[k] = &next, &next
	}
	return tables, kinds
}

// objects copies the records of a table.
func (to copies) objects(t *table) {
	next := to.tables[t]
	for _, r := range t.sorted() {
		c := &record{kind: to.kindOf(r.kind), key: r.key, slot: r.slot}
		to.records[r], next.records[c.key] = c, c
		next.order = append(next.order, c)
	}
}

// kindOf returns the copy of a kind. One that was defined anew since an object was stored is in no
// table of kinds.
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
