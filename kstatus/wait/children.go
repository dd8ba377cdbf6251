package wait

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/ownership"
	"github.com/stagecraft-go/stagecraft/kstatus"
)

// A childSet holds the children that one query finds, each in a compact record.
type childSet struct {
	byUID   map[types.UID]*childRecord
	byOwner map[types.UID]map[types.UID]*childRecord
	waiting []int32 // indexes of the waited-for objects whose children are looked up here
	err     error   // of the last list; nil: it succeeded
}

// namedChild stands for the owner of the only child of a query with a name, which belongs to every
// object that refers to it.
const namedChild types.UID = "named child"

type childRecord struct {
	refs  ownership.References
	name  string
	round uint32 // the last list that contained it
	child kstatus.Child
}

func newChildSet() *childSet {
	return &childSet{
		byUID: map[types.UID]*childRecord{}, byOwner: map[types.UID]map[types.UID]*childRecord{},
	}
}

func (s *childSet) put(c *childRecord) {
	s.remove(c.refs.UID)
	s.byUID[c.refs.UID] = c
	siblings := s.byOwner[c.refs.Owner]
	if siblings == nil {
		siblings = map[types.UID]*childRecord{}
		s.byOwner[c.refs.Owner] = siblings
	}
	siblings[c.refs.UID] = c
}

func (s *childSet) remove(uid types.UID) {
	old := s.byUID[uid]
	if old == nil {
		return
	}
	delete(s.byUID, uid)
	delete(s.byOwner[old.refs.Owner], uid)
	if len(s.byOwner[old.refs.Owner]) == 0 {
		delete(s.byOwner, old.refs.Owner)
	}
}

// missing returns the children that the list of a round did not contain.
func (s *childSet) missing(round uint32) (missing []types.UID) {
	for uid, c := range s.byUID {
		if c.round != round {
			missing = append(missing, uid)
		}
	}
	return missing
}

// current returns the children of the owners of the wanted revision ("": the newest), by name.
func (s *childSet) current(owners []types.UID, wanted string) []*childRecord {
	var all []*childRecord
	for _, owner := range owners {
		all = slices.AppendSeq(all, maps.Values(s.byOwner[owner]))
	}
	isCurrent := ownership.CurrentRevision(wanted, func(yield func(string) bool) {
		for _, c := range all {
			if !yield(c.refs.Revision) {
				return
			}
		}
	})
	all = slices.DeleteFunc(all, func(c *childRecord) bool { return !isCurrent(c.refs.Revision) })
	slices.SortFunc(all, func(a, b *childRecord) int { return cmp.Compare(a.name, b.name) })
	return all
}

// An owner is an object that is waited for and whose children are watched.
type owner struct {
	refs    ownership.References
	own     kstatus.Result    // the verdict on the object alone
	queries []ownership.Query // one for each level of children
	levels  []*source         // the sources of these queries
}

// err returns the error of a look-up of children that failed. The owner may be nil.
func (o *owner) err() error {
	if o == nil {
		return nil
	}
	_, err := o.children()
	return err
}

// children returns the children of the current revision, those of the last level first, and the
// error of a look-up that failed.
func (o *owner) children() (children []kstatus.Child, err error) {
	owners, wanted := []types.UID{o.refs.UID}, o.refs.CurrentRevision
	for _, level := range o.levels {
		if level.children.err != nil {
			err = level.children.err
		}
		if level.query.Name != "" {
			owners, wanted = []types.UID{namedChild}, ""
		}
		var next []types.UID
		var found []kstatus.Child
		for _, c := range level.children.current(owners, wanted) {
			next, found = append(next, c.refs.UID), append(found, c.child)
		}
		children = append(found, children...)
		owners, wanted = next, ""
	}
	return children, err
}
