package reconcile

import "container/list"

// An lru is a map of the entries that were used last. When it has more than most entries, it
// forgets the least recently used one. The zero value is not usable.
type lru[K comparable, V any] struct {
	most  int
	order *list.List // of *lruEntry, the one used last at the front
	at    map[K]*list.Element
}

type lruEntry[K comparable, V any] struct {
	key   K
	value V
}

func newLRU[K comparable, V any](most int) *lru[K, V] {
	return &lru[K, V]{most: most, order: list.New(), at: map[K]*list.Element{}}
}

// of returns the value of a key. It calls create for a key that it does not remember.
func (l *lru[K, V]) of(key K, create func() V) V {
	if e := l.at[key]; e != nil {
		l.order.MoveToFront(e)
		return e.Value.(*lruEntry[K, V]).value
	}
	entry := &lruEntry[K, V]{key, create()}
	l.at[key] = l.order.PushFront(entry)
	if last := l.order.Back(); l.order.Len() > l.most {
		delete(l.at, l.order.Remove(last).(*lruEntry[K, V]).key)
	}
	return entry.value
}
