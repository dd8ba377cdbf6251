package codec

import "hash/maphash"

const (
	common = 2    // how deep in an object the parts begin that others may have too
	wordy  = 1024 // bytes of a part that is looked for
)

// phrases are parts of objects that were read again and again, such as the tolerations of Pods, by their text.
type phrases [256]phrase

// A phrase is an object or array. It takes the place of another when it is met for the second time in a row, so that those which are
// met once, as most are, neither take memory nor drive others out.
type phrase struct {
	text  string
	value any
	next  uint64 // the hash of the last one that was not this
}

// shared reads an object or array that others may be equal to.
func (r *reader) shared() (any, bool) {
	var b brackets
	n := b.end(r.data[r.at:min(len(r.data), r.at+wordy)])
	if n < 0 {
		return r.build(nil)
	}
	text := r.data[r.at : r.at+n]
	hash := maphash.Bytes(r.seed, text)
	p := &r.phrases[hash%uint64(len(r.phrases))]
	if p.text == string(text) {
		r.at += n
		return p.value, true
	}
	v, ok := r.build(nil)
	if ok && p.next == hash {
		p.text, p.value = string(text), v
	}
	p.next = hash
	return v, ok
}
