package codec

import "hash/maphash"

const (
	maxInterned = 40  // longer strings are not interned
	maxDepth    = 100 // objects and lists within each other
	listDepth   = -2  // the depth of a list object, so that its items begin at depth 0
)

// A builder makes the maps, lists and strings of an object. Both readers, of JSON and of protobuf,
// build with it.
type builder struct {
	// pending holds the members and elements of all maps and lists that are not complete, so that
	// each map and list is allocated once, in its final size.
	pending  []member
	depth    int // how many maps and lists are not complete
	seed     maphash.Seed
	interned [512]interned
	shared   *sharedParts // nil: each object has its own parts
}

func newBuilder(share bool) builder {
	b := builder{seed: maphash.MakeSeed()}
	if share {
		b.shared = new(sharedParts)
	}
	return b
}

type member struct {
	key   string
	value any
}

// begin starts a map or list. It returns false if the nesting is too deep.
func (b *builder) begin() bool {
	b.depth++
	return b.depth <= maxDepth
}

// endMap returns the map whose members are pending from first on. Of two members with the same
// name, the last one is taken.
func (b *builder) endMap(first int) map[string]any {
	members := b.pending[first:]
	m := make(map[string]any, len(members))
	for _, e := range members {
		m[e.key] = e.value
	}
	b.end(first)
	return m
}

// endList returns the list whose elements are pending from first on.
func (b *builder) endList(first int) []any {
	elements := b.pending[first:]
	list := make([]any, len(elements))
	for i, e := range elements {
		list[i] = e.value
	}
	b.end(first)
	return list
}

func (b *builder) end(first int) {
	clear(b.pending[first:])
	b.pending = b.pending[:first]
	b.depth--
}

// interned is a string that was read before. The same string as an any is kept too, once it was
// asked for, because converting a string to any allocates.
type interned struct {
	text  string
	value any
}

func (i *interned) boxed() any {
	if i.value == nil {
		i.value = i.text
	}
	return i.value
}

// intern returns the string of some bytes. It is the string of an earlier call if that is still in
// the table.
func (b *builder) intern(text []byte) *interned {
	if len(text) > maxInterned {
		return &interned{text: string(text)}
	}
	i := &b.interned[maphash.Bytes(b.seed, text)%uint64(len(b.interned))]
	if i.text != string(text) {
		*i = interned{text: string(text)}
	}
	return i
}
