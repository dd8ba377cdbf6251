package codec

import (
	"hash/maphash"
	"sync"
)

const (
	common = 2    // how deep in an object the parts begin that others may have too
	wordy  = 1024 // bytes of a part that is looked for
)

// phrases are parts of objects that were read again and again, such as the tolerations of Pods, by their text.
type phrases [256]phrase

// A phrase is an object or list. It takes the place of another when it is met for the second time in a row, so that those which are
// met once, as most are, neither take memory nor drive others out.
type phrase struct {
	text  string
	of    *field // what the text is written for, if it does not say so itself
	value any
	next  uint64 // the hash of the last one that was not this
}

// shares reports whether parts of a text that are where it is now are looked for.
func (b *builder) shares(text []byte) bool {
	return b.phrases != nil && b.depth >= common && len(text) <= wordy
}

// shared returns what a text says: what was built of an equal one, or is built now.
func (b *builder) shared(text []byte, of *field, build func() (any, bool)) (any, bool) {
	hash := maphash.Bytes(b.seed, text)
	p := &b.phrases[hash%uint64(len(b.phrases))]
	if p.text == string(text) && p.of == of {
		return p.value, true
	}
	v, ok := build()
	if ok && p.next == hash {
		p.text, p.of, p.value = string(text), of, v
	}
	p.next = hash
	return v, ok
}

// recent are the objects read last, by what they were read from: the answer to a patch comes again, as an event of a watch.
type recent struct {
	seeds [2]maphash.Seed
	read  [256]reading
}

// A reading is an object, and what it was read from: two hashes stand for that, with 128 bits. Its lock is held while it is made: an answer and its
// event come at about the same time.
type reading struct {
	mu   sync.Mutex
	of   *kind
	text [2]uint64
	made map[string]any
}

func newRecent() *recent {
	return &recent{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
}

// object returns what was read of equal data of a kind, or is read now.
func (r *recent) object(k *kind, data []byte, read func() (map[string]any, bool)) (map[string]any, bool) {
	text := [2]uint64{maphash.Bytes(r.seeds[0], data), maphash.Bytes(r.seeds[1], data)}
	last := &r.read[text[0]%uint64(len(r.read))]
	last.mu.Lock()
	defer last.mu.Unlock()
	if last.of == k && last.text == text {
		return last.made, true
	}
	made, ok := read()
	if ok {
		last.of, last.text, last.made = k, text, made
	}
	return made, ok
}
