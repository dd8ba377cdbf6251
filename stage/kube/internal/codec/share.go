package codec

import (
	"hash/maphash"
	"sync"
)

const (
	sharedMinDepth = 2    // maps and lists at a lower depth are not shared
	sharedMaxSize  = 1024 // longer parts are not shared
)

// sharedParts is a hash table of the maps and lists that objects have in common, such as the
// tolerations of Pods, by the bytes that they were read from.
type sharedParts [256]sharedPart

// A sharedPart is one map or list. A part enters the table when it is read for the second time in
// a row, so that parts of one object alone, as most are, do not replace those of many.
type sharedPart struct {
	text  string
	field *field // the schema of the text; nil for JSON, which needs none
	value any
	last  uint64 // the hash of the last part in this place that was not in the table
}

// shares reports whether a part with this text is looked up, at the present depth of the builder.
func (b *builder) shares(text []byte) bool {
	return b.shared != nil && b.depth >= sharedMinDepth && len(text) <= sharedMaxSize
}

// share returns the part of a text: from the table, or built now.
func (b *builder) share(text []byte, of *field, build func() (any, bool)) (any, bool) {
	hash := maphash.Bytes(b.seed, text)
	p := &b.shared[hash%uint64(len(b.shared))]
	if p.text == string(text) && p.field == of {
		return p.value, true
	}
	v, ok := build()
	if ok && p.last == hash {
		p.text, p.field, p.value = string(text), of, v
	}
	p.last = hash
	return v, ok
}

// recentObjects is a hash table of the objects that were read last. The object in the answer to a
// patch is sent again as an event of a watch, but built only once.
type recentObjects struct {
	seeds [2]maphash.Seed
	table [256]recentObject
}

// A recentObject is an object and the hash of what it was read from, with 128 bits. It is locked
// while it is built, because an answer and its event arrive at about the same time.
type recentObject struct {
	mu     sync.Mutex
	kind   *kind
	hash   [2]uint64
	object map[string]any
}

func newRecentObjects() *recentObjects {
	return &recentObjects{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
}

// read returns the object of some data: from the table, or built now.
func (r *recentObjects) read(k *kind, data []byte, build func() (map[string]any, bool)) (map[string]any, bool) {
	hash := [2]uint64{maphash.Bytes(r.seeds[0], data), maphash.Bytes(r.seeds[1], data)}
	last := &r.table[hash[0]%uint64(len(r.table))]
	last.mu.Lock()
	defer last.mu.Unlock()
	if last.kind == k && last.hash == hash {
		return last.object, true
	}
	object, ok := build()
	if ok {
		last.kind, last.hash, last.object = k, hash, object
	}
	return object, ok
}
