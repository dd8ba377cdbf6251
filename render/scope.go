package render

// The first slots of a run. Dot and $ begin as the object, but only $ can be assigned to.
const (
	dotSlot = iota
	rootSlot
	firstSlots
)

// A scope says in which slots of the run the dot and the variables are at one place of a template. A variable has one slot
// for all its values, because no part of an outline is executed within itself.
type scope struct {
	dot       int
	variables []variable // the innermost last
}

type variable struct {
	name   string
	slot   int
	looped bool // set by a range: it may be null, otherwise it is missing where it is nil
}

func outermost() scope {
	return scope{dot: dotSlot, variables: []variable{{name: "$", slot: rootSlot}}}
}

// variable finds one. Some that the parser allows do not exist when text/template gets there.
func (s scope) variable(name string) (v variable, ok bool) {
	for i := len(s.variables) - 1; i >= 0; i-- {
		if s.variables[i].name == name {
			return s.variables[i], true
		}
	}
	return variable{}, false
}

func (o *outliner) declare(v variable) { o.scope.variables = append(o.scope.variables, v) }

// slot is a new one.
func (o *outliner) slot() int {
	o.outline.slots++
	return o.outline.slots - 1
}
