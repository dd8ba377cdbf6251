package expression

import (
	"strings"
	"testing"
	"time"

	googlecel "github.com/google/cel-go/cel"
	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/cel"
	"github.com/stagecraft-go/stagecraft/internal/dev/race"
	"github.com/stagecraft-go/stagecraft/internal/dev/work"
)

// written are texts for the search, with ARG for each part. The functions are those of the library,
// with and without a receiver, as their declarations say.
func written(t testing.TB) []string {
	forms := []string{"ARG[ARG]", "[ARG, ARG]", "{ARG: ARG}", "ARG + ARG", "ARG == ARG", "ARG != ARG", "ARG < ARG", "ARG in ARG", "ARG ? ARG : ARG", "ARG.map(x, ARG)", "ARG.filter(x, ARG)",
		"ARG.all(x, ARG)", "ARG.exists(x, ARG)", "ARG.exists_one(x, ARG)", "ARG.transformList(i, x, ARG)", "ARG.transformMap(i, x, ARG)", "ARG.sortBy(x, ARG)", "ARG[?ARG]", "-ARG", "ARG && ARG",
		"dyn(ARG)", "math.greatest(ARG)", "ARG.transformMapEntry(i, x, {ARG: ARG})", "[ARG, ARG, ARG].flatten()", "ARG.format([ARG, ARG])", `"%s%s".format([ARG, ARG])`, "ARG.join(ARG)", "size(ARG)"}
	env, err := googlecel.NewEnv(library()...)
	require.NoError(t, err)
	for name, f := range env.Functions() {
		if strings.ContainsAny(name, "@_!") {
			continue
		}
		for _, o := range f.OverloadDecls() {
			args := make([]string, len(o.ArgTypes()))
			for i := range args {
				args[i] = "ARG"
			}
			if o.IsMemberFunction() {
				forms = append(forms, args[0]+"."+name+"("+strings.Join(args[1:], ", ")+")")
			} else {
				forms = append(forms, name+"("+strings.Join(args, ", ")+")")
			}
		}
	}
	return forms
}

var leaves = strings.Fields(`self.s self.u self.k self.o self.p self.l self.m self.t self.n self.d self.few self.spaces self.digits self 0 1 2 -1 1.5 "a" "" 0 1u b"a" [1] "b$" "(a{0,9})+c" "%s"
	lists.range(20) x i "1e99" Quantity("1e99") "Europe/Berlin" timestamp("2020-01-01T00:00:00Z") true [self.l,self.m] bytes(self.s)`)

// subject is CEL for the search for the worst work for a charge. A unit is a step.
func subject(t testing.TB) work.Subject {
	compiler, err := newCEL(Options{}, 0, nil)
	require.NoError(t, err)
	forms, objects := written(t), map[string]*Scope{}
	for _, char := range chars {
		objects[char] = NewScope(grown(600, char), time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC))
	}
	var write func(c *work.Choices) string
	write = func(c *work.Choices) string {
		return c.Deeper(c.One(leaves...), func() string {
			if c.N(3) == 0 {
				return c.One(leaves...)
			}
			form := forms[c.N(len(forms))]
			return "(" + c.Fill(form, func() string { return write(c) }) + ")"
		})
	}
	return work.Subject{
		Write: func(c *work.Choices) string { return c.One(chars...) + " " + write(c) },
		Bound: work.Spent{Bytes: bytesOfStep, Time: timeOfStep},
		Evaluate: func(text string, times int) (work.Spent, float64) {
			char, source, _ := strings.Cut(text, " ")
			s := objects[char]
			if s == nil {
				return work.Spent{}, 0
			}
			return evaluated(compiler, "[dyn(1)].all(x, [dyn(1)].all(i, lists.range(8).all(j, ["+source+"].size() == 1)))", s, times)
		},
	}
}

var chars = []string{"a", "é", "日", `\xff`}

func evaluated(c *cel.Compiler, source string, s *Scope, times int) (work.Spent, float64) {
	p, err := c.Compile(source)
	if err != nil {
		return work.Spent{}, 0
	}
	steps := 0
	spent := work.Measure(times, func() { _, steps, _ = p.Measured((*activation)(s)) })
	return spent, float64(100 + steps) // an evaluation itself takes some
}

func TestWorstFound(t *testing.T) {
	if race.On {
		t.Skip("it would measure the race detector")
	}
	subject(t).TestWorst(t)
}

func FuzzWork(f *testing.F) { subject(f).Fuzz(f) }
