package expr

import "github.com/itchyny/gojq"

// walker visits every query, term and function definition of a program, children first, so that visitors may rewrite
// what they are given in place. Fields left nil are not called.
type walker struct {
	query   func(*gojq.Query)
	term    func(*gojq.Term)
	index   func(*gojq.Index)
	def     func(*gojq.FuncDef)
	pattern func(*gojq.Pattern)
	key     func(*gojq.ObjectKeyVal)
}

func (w *walker) walk(q *gojq.Query) {
	if q == nil {
		return
	}
	for _, d := range q.FuncDefs {
		w.walk(d.Body)
		if w.def != nil {
			w.def(d)
		}
	}
	w.walkTerm(q.Term)
	w.walk(q.Left)
	w.walkPatterns(q.Patterns)
	w.walk(q.Right)
	if w.query != nil {
		w.query(q)
	}
}

func (w *walker) walkAll(queries ...*gojq.Query) {
	for _, q := range queries {
		w.walk(q)
	}
}

func (w *walker) walkTerm(t *gojq.Term) {
	if t == nil {
		return
	}
	w.walkIndex(t.Index)
	w.walkString(t.Str)
	w.walk(t.Query)
	w.walkValues(t)
	w.walkControl(t)
	for _, s := range t.SuffixList {
		w.walkIndex(s.Index)
	}
	if w.term != nil {
		w.term(t)
	}
}

func (w *walker) walkValues(t *gojq.Term) {
	if t.Func != nil {
		w.walkAll(t.Func.Args...)
	}
	if t.Array != nil {
		w.walk(t.Array.Query)
	}
	if t.Unary != nil {
		w.walkTerm(t.Unary.Term)
	}
	if t.Object == nil {
		return
	}
	for _, kv := range t.Object.KeyVals {
		w.walkString(kv.KeyString)
		w.walkAll(kv.KeyQuery, kv.Val)
		if w.key != nil {
			w.key(kv)
		}
	}
}

func (w *walker) walkControl(t *gojq.Term) {
	if x := t.If; x != nil {
		w.walkAll(x.Cond, x.Then)
		for _, e := range x.Elif {
			w.walkAll(e.Cond, e.Then)
		}
		w.walk(x.Else)
	}
	if x := t.Try; x != nil {
		w.walkAll(x.Body, x.Catch)
	}
	if x := t.Reduce; x != nil {
		w.walkPatterns(x.Patterns)
		w.walkAll(x.Query, x.Start, x.Update)
	}
	if x := t.Foreach; x != nil {
		w.walkPatterns(x.Patterns)
		w.walkAll(x.Query, x.Start, x.Update, x.Extract)
	}
	if x := t.Label; x != nil {
		w.walk(x.Body)
	}
}

func (w *walker) walkIndex(x *gojq.Index) {
	if x == nil {
		return
	}
	w.walkString(x.Str)
	w.walkAll(x.Start, x.End)
	if w.index != nil {
		w.index(x)
	}
}

func (w *walker) walkString(s *gojq.String) {
	if s != nil {
		w.walkAll(s.Queries...)
	}
}

func (w *walker) walkPatterns(patterns []*gojq.Pattern) {
	for _, p := range patterns {
		w.walkPatterns(p.Array)
		for _, o := range p.Object {
			w.walkString(o.KeyString)
			w.walk(o.KeyQuery)
			if o.Val != nil {
				w.walkPatterns([]*gojq.Pattern{o.Val})
			}
		}
		if w.pattern != nil {
			w.pattern(p)
		}
	}
}

// namesIn returns the names of all functions and variables that a program uses or defines.
func namesIn(q *gojq.Query) map[string]bool {
	names := definedIn(q)
	w := walker{
		term: func(t *gojq.Term) {
			if t.Func != nil {
				names[t.Func.Name] = true
			}
		},
		key: func(kv *gojq.ObjectKeyVal) {
			if kv.Key != "" && kv.Key[0] == '$' {
				names[kv.Key] = true
			}
		},
	}
	w.walk(q)
	return names
}

// definedIn returns the names that a program defines: functions, their parameters, variables.
func definedIn(q *gojq.Query) map[string]bool {
	names := map[string]bool{}
	w := walker{
		def: func(d *gojq.FuncDef) {
			names[d.Name] = true
			for _, a := range d.Args {
				names[a] = true
			}
		},
		pattern: func(p *gojq.Pattern) {
			names[p.Name] = true
			for _, o := range p.Object {
				names[variable(o.Key)] = true
			}
		},
	}
	w.walk(q)
	return names
}

// variable returns the key of an object pattern if it is also a variable: {$name}.
func variable(key string) string {
	if key != "" && key[0] == '$' {
		return key
	}
	return ""
}
