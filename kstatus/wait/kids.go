package wait

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/ownership"
	"github.com/stagecraft-go/stagecraft/kstatus"
)

// kids are the children at a place, each in a compact record.
type kids struct {
	byUID   map[types.UID]*kid
	byOwner map[types.UID]map[types.UID]*kid
	parents []int32 // whose children are looked for here
	err     error   // of the last list; nil: it could be had
}

// everyone owns the only child at a place of one name.
const everyone types.UID = "everyone"

type kid struct {
	facts ownership.Facts
	name  string
	round uint32
	child kstatus.Child
}

func newKids() *kids {
	return &kids{byUID: map[types.UID]*kid{}, byOwner: map[types.UID]map[types.UID]*kid{}}
}

func (k *kids) put(child *kid) {
	k.drop(child.facts.UID)
	k.byUID[child.facts.UID] = child
	siblings := k.byOwner[child.facts.Owner]
	if siblings == nil {
		siblings = map[types.UID]*kid{}
		k.byOwner[child.facts.Owner] = siblings
	}
	siblings[child.facts.UID] = child
}

func (k *kids) drop(uid types.UID) {
	old := k.byUID[uid]
	if old == nil {
		return
	}
	delete(k.byUID, uid)
	delete(k.byOwner[old.facts.Owner], uid)
	if len(k.byOwner[old.facts.Owner]) == 0 {
		delete(k.byOwner, old.facts.Owner)
	}
}

// missing are those that a list did not have.
func (k *kids) missing(round uint32) (missing []types.UID) {
	for uid, child := range k.byUID {
		if child.round != round {
			missing = append(missing, uid)
		}
	}
	return missing
}

// current are the children of the owners, of the revision that is wanted, by name.
func (k *kids) current(owners []types.UID, wants string) []*kid {
	var all []*kid
	for _, owner := range owners {
		all = slices.AppendSeq(all, maps.Values(k.byOwner[owner]))
	}
	current := ownership.Current(wants, func(yield func(string) bool) {
		for _, child := range all {
			if !yield(child.facts.Revision) {
				return
			}
		}
	})
	all = slices.DeleteFunc(all, func(child *kid) bool { return !current(child.facts.Revision) })
	slices.SortFunc(all, func(a, b *kid) int { return cmp.Compare(a.name, b.name) })
	return all
}

// A family is an object that is waited for and has children to look at.
type family struct {
	facts  ownership.Facts
	own    kstatus.Result    // of the object alone
	places []ownership.Place // where its children are
	levels []*source         // where they are looked for
}

// children are the children of its current revision, those of the last level first, and why some could not be looked up.
func (f *family) children() (children []kstatus.Child, err error) {
	owners, wants := []types.UID{f.facts.UID}, f.facts.Wants
	for _, level := range f.levels {
		if level.kids.err != nil {
			err = level.kids.err
		}
		if level.place.Name != "" {
			owners, wants = []types.UID{everyone}, ""
		}
		var next []types.UID
		var found []kstatus.Child
		for _, child := range level.kids.current(owners, wants) {
			next, found = append(next, child.facts.UID), append(found, child.child)
		}
		children = append(found, children...)
		owners, wants = next, ""
	}
	return children, err
}
