package reconcile

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// labelSet reads labels without a copy. It is a [labels.Labels].
type labelSet map[string]any

func labelsOf(obj *unstructured.Unstructured) labelSet {
	set, _ := object.Map(obj.Object, "metadata", "labels")
	return set
}

func (l labelSet) Has(key string) bool { _, ok := l[key]; return ok }

func (l labelSet) Get(key string) string { v, _ := l.Lookup(key); return v }

func (l labelSet) Lookup(key string) (string, bool) { v, ok := l[key].(string); return v, ok }

// pairs calls a function for each label.
func (l labelSet) pairs(namespace string, do func(labelPair)) {
	for key, value := range l {
		if text, ok := value.(string); ok {
			do(labelPair{namespace, key, text})
		}
	}
}

func (l labelSet) equal(other labelSet) bool {
	if len(l) != len(other) {
		return false
	}
	for key, value := range l {
		if was, ok := other[key]; !ok || was != value {
			return false
		}
	}
	return true
}

// A labelPair is a label of the objects of a namespace.
type labelPair struct{ namespace, key, value string }

// A labelIndex finds objects by their labels.
type labelIndex struct{ sets map[labelPair]*objectSet }

func newLabelIndex(s *store) *labelIndex {
	i := &labelIndex{map[labelPair]*objectSet{}}
	for _, e := range s.entries {
		i.add(e)
	}
	return i
}

func (i *labelIndex) add(e *entry) {
	labelsOf(e.obj).pairs(e.name.Namespace, func(p labelPair) {
		set := i.sets[p]
		if set == nil {
			set = &objectSet{}
			i.sets[p] = set
		}
		set.add(e)
	})
}

func (i *labelIndex) move(e *entry, old *unstructured.Unstructured) {
	before, now := labelsOf(old), labelsOf(e.obj)
	if !before.equal(now) {
		i.take(e, before)
		i.add(e)
		return
	}
	now.pairs(e.name.Namespace, func(p labelPair) { i.sets[p].list = nil })
}

func (i *labelIndex) remove(e *entry) { i.take(e, labelsOf(e.obj)) }

func (i *labelIndex) take(e *entry, from labelSet) {
	from.pairs(e.name.Namespace, func(p labelPair) {
		set := i.sets[p]
		if set.remove(e); len(set.entries) == 0 {
			delete(i.sets, p)
		}
	})
}

// candidates returns the objects with a label that the selector requires, the rarest of them. It
// returns false if the selector requires no label with one value.
func (i *labelIndex) candidates(namespace string, requirements labels.Requirements) (found []*unstructured.Unstructured, ok bool) {
	var least *objectSet
	for _, r := range requirements {
		value, one := onlyValue(r)
		if !one {
			continue
		}
		set := i.sets[labelPair{namespace, r.Key(), value}]
		if set == nil {
			return nil, true
		}
		if least == nil || len(set.entries) < len(least.entries) {
			least = set
		}
	}
	if least == nil {
		return nil, false
	}
	return least.objects(), true
}

// onlyValue returns the only value that a requirement lets a label have. It returns false if there
// are several, or the label may be missing.
func onlyValue(r labels.Requirement) (string, bool) {
	switch r.Operator() {
	case selection.In, selection.Equals, selection.DoubleEquals:
		values := r.ValuesUnsorted()
		if len(values) == 1 {
			return values[0], true
		}
	}
	return "", false
}

// A SelectorIndex finds the objects of a kind whose selectors match given labels, for example the
// Services of a Pod. Its address identifies it, like an [Index].
type SelectorIndex struct {
	Kind schema.GroupVersionKind
	// Selector returns the selector of an object; nil selects nothing. It must depend only on the spec
	// of the object.
	Selector func(*unstructured.Unstructured) labels.Selector
}

// A selectorIndex has the selectors of the objects of a store.
type selectorIndex struct {
	read func(*unstructured.Unstructured) labels.Selector
	set  SelectorSet[*entry]
}

func newSelectorIndex(s *store, read func(*unstructured.Unstructured) labels.Selector) *selectorIndex {
	i := &selectorIndex{read: read}
	for _, e := range s.entries {
		i.add(e)
	}
	return i
}

func (i *selectorIndex) add(e *entry) { i.set.Put(e, e.name.Namespace, i.read(e.obj)) }

func (i *selectorIndex) move(e *entry, old *unstructured.Unstructured) {
	if !object.DeepEqual(old.Object["spec"], e.obj.Object["spec"]) {
		i.add(e)
	}
}

func (i *selectorIndex) remove(e *entry) { i.set.Remove(e) }

// selecting returns the objects whose selectors match the labels of an object, by name.
func (i *selectorIndex) selecting(obj *unstructured.Unstructured) (found []*unstructured.Unstructured) {
	matching := i.set.Matching(obj)
	slices.SortFunc(matching, byEntry)
	for _, e := range matching {
		found = append(found, e.obj)
	}
	return found
}

// A SelectorSet finds which of many selectors match an object. Each selector has a key and selects in
// one namespace. A selector that requires a label with one value stands under this label, so that
// an object is compared with few selectors. The zero value is an empty set. It must not be used from
// several goroutines at once.
type SelectorSet[K comparable] struct {
	members map[K]member
	byLabel map[labelPair][]K // the key and the value are "" for selectors that require no label with one value
}

type member struct {
	selector labels.Selector
	under    labelPair
}

// Put adds a selector, or replaces the selector of the key. A selector that is nil is removed.
func (s *SelectorSet[K]) Put(key K, namespace string, by labels.Selector) {
	s.Remove(key)
	if by == nil {
		return
	}
	if s.members == nil {
		s.members, s.byLabel = map[K]member{}, map[labelPair][]K{}
	}
	m := member{by, requiredLabel(namespace, by)}
	s.members[key] = m
	s.byLabel[m.under] = append(s.byLabel[m.under], key)
}

// Remove removes the selector of a key, if there is one.
func (s *SelectorSet[K]) Remove(key K) {
	m, known := s.members[key]
	if !known {
		return
	}
	delete(s.members, key)
	list := s.byLabel[m.under]
	at := slices.Index(list, key)
	if list = slices.Delete(list, at, at+1); len(list) > 0 {
		s.byLabel[m.under] = list
	} else {
		delete(s.byLabel, m.under)
	}
}

// requiredLabel returns a label that a selector requires with one value, or else a pair without a key.
func requiredLabel(namespace string, by labels.Selector) labelPair {
	requirements, _ := by.Requirements()
	for _, r := range requirements {
		if value, one := onlyValue(r); one {
			return labelPair{namespace, r.Key(), value}
		}
	}
	return labelPair{namespace: namespace}
}

// Matching returns the keys of the selectors that match the labels of an object, in no order.
func (s *SelectorSet[K]) Matching(obj *unstructured.Unstructured) (keys []K) {
	set, namespace := labelsOf(obj), obj.GetNamespace()
	ask := func(p labelPair) {
		for _, key := range s.byLabel[p] {
			if s.members[key].selector.Matches(set) {
				keys = append(keys, key)
			}
		}
	}
	ask(labelPair{namespace: namespace})
	set.pairs(namespace, ask)
	return keys
}
