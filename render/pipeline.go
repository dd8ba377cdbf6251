package render

import (
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"
)

// An expression is a pipeline or a part of a pipeline: it computes a value. A missing value is nil,
// as for functions.
type expression func(s *state) any

// The first slots of a frame. Dot and $ begin as the same value, but only $ can be assigned to.
const (
	dotSlot = iota
	rootSlot
	firstSlots
)

// A scope says in which slots of the frame the dot and the variables are at one place of a
// template. A variable has one slot for all its values: a definition that calls itself has a new
// frame.
type scope struct {
	dot       int
	variables []variable // the innermost last
}

type variable struct {
	name   string
	slot   int
	looped bool // set by a range: it may be null, otherwise it is missing where it is nil
}

// outermost is the scope at the beginning of a definition, with the number of its slots.
func outermost() (scope, int) {
	return scope{dot: dotSlot, variables: []variable{{name: "$", slot: rootSlot}}}, firstSlots
}

func (c *compiler) declare(v variable) {
	// The variables of the scope around this one stay as they are.
	c.scope.variables = append(c.scope.variables[:len(c.scope.variables):len(c.scope.variables)], v)
}

// slot returns a new slot.
func (c *compiler) slot() int {
	c.slots++
	return c.slots - 1
}

// variable finds a variable. The parser allows some variables that do not exist when text/template
// executes the node.
func (c *compiler) variable(name string) variable {
	list := c.scope.variables
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].name == name {
			return list[i]
		}
	}
	c.unknown = true
	return variable{}
}

// pipeline sets the variable that it declares or assigns to.
func (c *compiler) pipeline(p *parse.PipeNode) expression {
	value := c.commands(p.Cmds)
	if len(p.Decl) == 0 {
		return value
	}
	name := p.Decl[0].Ident[0]
	if !p.IsAssign {
		c.declare(variable{name: name, slot: c.slot()})
	}
	slot := c.variable(name).slot
	return func(s *state) any {
		v := value(s)
		s.frame[slot] = v
		return v
	}
}

// commands compiles the commands of a pipeline. Each command gets the value of the previous one;
// the first gets nil.
func (c *compiler) commands(cmds []*parse.CommandNode) expression {
	var value expression
	for _, cmd := range cmds {
		if id, ok := cmd.Args[0].(*parse.IdentifierNode); ok {
			value = c.call(id.Ident, cmd.Args[1:], value)
			continue
		}
		if len(cmd.Args) > 1 || value != nil {
			c.unknown = true // not a function
		}
		value = c.operand(cmd.Args[0])
	}
	return value
}

func (c *compiler) operand(n parse.Node) expression {
	switch n := n.(type) {
	case *parse.DotNode:
		return c.chain(c.read(c.scope.dot), nil)
	case *parse.FieldNode:
		return c.chain(c.read(c.scope.dot), n.Ident)
	case *parse.VariableNode:
		return c.variableChain(c.variable(n.Ident[0]), n.Ident[1:])
	case *parse.ChainNode:
		return c.chain(c.operand(n.Node), n.Field)
	case *parse.IdentifierNode:
		return c.call(n.Ident, nil, nil)
	case *parse.PipeNode:
		c.unknown = c.unknown || len(n.Decl) > 0
		return c.commands(n.Cmds)
	case *parse.StringNode:
		return constant(n.Text)
	case *parse.BoolNode:
		return constant(n.True)
	case *parse.NumberNode:
		v, ok := numeral(n)
		c.unknown = c.unknown || !ok
		return constant(v)
	}
	c.unknown = true
	return nil
}

func constant(v any) expression { return func(*state) any { return v } }

// numeral is an integer that is an int wherever it stands, or a decimal fraction.
func numeral(n *parse.NumberNode) (any, bool) {
	if i, err := strconv.Atoi(n.Text); err == nil && int64(i) == n.Int64 {
		return i, true
	}
	return n.Float64, n.IsFloat && strings.Contains(n.Text, ".") && strings.Trim(n.Text, "-.0123456789") == ""
}

func (c *compiler) read(slot int) expression {
	return func(s *state) any { return s.frame[slot] }
}

// variableChain reads fields of a variable. Every field of a nil variable is missing, unless a loop
// set the variable to null.
func (c *compiler) variableChain(v variable, names []string) expression {
	chain := c.chain(c.read(v.slot), names)
	if len(names) == 0 || v.looped || c.template.options.MissingKeyError {
		return chain
	}
	return func(s *state) any {
		if s.frame[v.slot] == nil {
			return nil
		}
		return chain(s)
	}
}

// chain reads a chain of fields. A missing key gives nil, and so do all its fields. A field of null
// is an error.
func (c *compiler) chain(of expression, names []string) expression {
	if len(names) == 0 {
		return of
	}
	strict := c.template.options.MissingKeyError
	return func(s *state) any {
		v := of(s)
		for _, name := range names {
			m, ok := v.(map[string]any)
			if !ok {
				giveUp()
			}
			if v, ok = m[name]; !ok {
				if strict {
					giveUp()
				}
				return nil
			}
		}
		return v
	}
}

// truth is the condition of an if.
func truth(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	}
	yes, known := template.IsTrue(v)
	if !known {
		giveUp()
	}
	return yes
}
