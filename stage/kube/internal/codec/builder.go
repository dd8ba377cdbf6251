package codec

import "hash/maphash"

const (
	longest = 40  // bytes of a string that is remembered
	deepest = 100 // objects and lists within each other
	ofList  = -2  // how deep a list is, so that its items are as deep as objects
)

// A builder makes the values that readers find. It has a memory of strings.
type builder struct {
	// open holds the members and elements of what has begun and not ended, so that maps and slices are made in their final size.
	open    []member
	depth   int // of what is open
	seed    maphash.Seed
	words   [512]word
	phrases *phrases // nil: each object has its own
}

func newBuilder(share bool) builder {
	b := builder{seed: maphash.MakeSeed()}
	if share {
		b.phrases = new(phrases)
	}
	return b
}

type member struct {
	key   string
	value any
}

// enter begins an object or list. It is false if that is too deep.
func (b *builder) enter() bool {
	b.depth++
	return b.depth <= deepest
}

// mapping ends what began at first, as an object. As everywhere, the last of two members of a name counts.
func (b *builder) mapping(first int) map[string]any {
	members := b.open[first:]
	m := make(map[string]any, len(members))
	for _, e := range members {
		m[e.key] = e.value
	}
	b.leave(first)
	return m
}

// list ends what began at first, as a list.
func (b *builder) list(first int) []any {
	elements := b.open[first:]
	list := make([]any, len(elements))
	for i, e := range elements {
		list[i] = e.value
	}
	b.leave(first)
	return list
}

func (b *builder) leave(first int) {
	clear(b.open[first:])
	b.open = b.open[:first]
	b.depth--
}

// A word is a string, and the same as a value once it has been one: making a value of a string takes memory too.
type word struct {
	text  string
	value any
}

func (w *word) boxed() any {
	if w.value == nil {
		w.value = w.text
	}
	return w.value
}

// remember makes a string of bytes, or finds it.
func (b *builder) remember(text []byte) *word {
	if len(text) > longest {
		return &word{text: string(text)}
	}
	w := &b.words[maphash.Bytes(b.seed, text)%uint64(len(b.words))]
	if w.text != string(text) {
		*w = word{text: string(text)}
	}
	return w
}
