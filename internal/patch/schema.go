package patch

//go:generate go run -C ../dev/bench ./patch/gentable ../../patch/table.go

// Schema knows which lists of one type merge, and by which key. The zero Schema has
// no rules: maps merge, lists are replaced.
type Schema struct{ typ string }

// SchemaFor returns the schema of a built-in kind, by the struct tags of k8s.io/api
// v0.37. It is false for every other kind; the API server then refuses strategic
// merge patches with 415.
func SchemaFor(group, version, kind string) (Schema, bool) {
	typ, ok := kinds[gvk{group, version, kind}]
	return Schema{typ}, ok
}

type gvk struct{ group, version, kind string }

// rule tells how one field merges.
type rule struct {
	strategy strategy
	key      string // merge key of a list of maps; "" for scalars
	typ      string // type of the field's values, "" if none of its fields has a rule
}

type strategy byte

const (
	byDefault strategy = iota // maps merge, lists are replaced
	merging                   // lists merge too
	replacing                 // maps are replaced too
)

func (s Schema) field(name string) (rule, Schema) {
	r := types[s.typ][name]
	return r, Schema{r.typ}
}

// MergeKey returns how the list in the named field merges: ok is false if it is
// replaced as a whole; key is "" for a list of scalars.
func (s Schema) MergeKey(name string) (key string, ok bool) {
	r := types[s.typ][name]
	return r.key, r.strategy == merging
}

// Field returns the schema of the values of the named field: of the map it holds, or
// of the elements of its list.
func (s Schema) Field(name string) Schema {
	_, sub := s.field(name)
	return sub
}
