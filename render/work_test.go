package render

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stagecraft-go/stagecraft/internal/dev/race"
	"github.com/stagecraft-go/stagecraft/internal/dev/work"
)

// written are texts for the search, with ARG for each part: calls of every function with the numbers
// of arguments that it takes.
func written() []string {
	tmpl, err := Compile("", Options{})
	must(err)
	names := slices.Concat(slices.Collect(maps.Keys(pure())), slices.Collect(maps.Keys(seeded)), slices.Collect(maps.Keys(own)), slices.Collect(maps.Keys(builtins)))
	slices.Sort(names)
	var forms []string
	for _, name := range slices.Compact(names) {
		least, most := 1, 3
		if fn := tmpl.function(tmpl.newState(), name); fn != nil {
			t := reflect.TypeOf(fn)
			least, most = t.NumIn(), t.NumIn()
			if t.IsVariadic() {
				least, most = t.NumIn()-1, t.NumIn()+1
			}
		}
		for n := least; n <= most; n++ {
			forms = append(forms, name+strings.Repeat(" ARG", n))
		}
	}
	return forms
}

var leaves = strings.Fields(`.s .u .k .short .o .p .l .m .t .same .d .few .spaces .words .lines .digits .paths .url .version .constraint .json . 0 1 2 -1 3.5 1e308 "a" "" "b$" "(a{0,9})+c" "%q" "%[1]v%[1]v" "%999d" true nil
	"2006" "1h" "Europe/Berlin" (list) (dict) (until\u00a05) (now)`)

// subject is templates for the search for the worst work for a charge. A unit is a step, or 32 bytes
// of output.
func subject() work.Subject {
	forms, objects := written(), map[string]map[string]any{}
	for _, char := range chars {
		objects[char] = grown(300, char)
	}
	var write func(c *work.Choices) string
	write = func(c *work.Choices) string {
		leaf := func() string { return strings.ReplaceAll(c.One(leaves...), "\u00a0", " ") }
		return c.Deeper(leaf(), func() string {
			if c.N(3) == 0 {
				return leaf()
			}
			return "(" + c.Fill(forms[c.N(len(forms))], func() string { return write(c) }) + ")"
		})
	}
	return work.Subject{
		Write: func(c *work.Choices) string {
			text := c.One("$x := ", "", "range ", "if ") + c.Fill(forms[c.N(len(forms))], func() string { return write(c) })
			if strings.HasPrefix(text, "range") || strings.HasPrefix(text, "if") {
				text += " }}{{ end"
			}
			return c.One(chars...) + " " + text
		},
		Bound: work.Spent{Bytes: bytesOfStep, Time: timeOfStep},
		Evaluate: func(text string, times int) (work.Spent, float64) {
			char, source, _ := strings.Cut(text, " ")
			if objects[char] == nil {
				return work.Spent{}, 0
			}
			return evaluated(source, objects[char], times)
		},
	}
}

var chars = []string{"a", "é", "日", `\xff`}

// evaluated renders an action ten times in one rendering, and returns its work and its charge.
func evaluated(source string, obj map[string]any, times int) (work.Spent, float64) {
	tmpl, err := Compile("{{ range until 10 }}{{ with $ }}{{ "+source+" }}{{ end }}{{ end }}", Options{})
	if err != nil {
		return work.Spent{}, 0
	}
	s := tmpl.newState()
	in := Input{Object: obj, Now: time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC)}
	s.reference = tmpl.bound(s) // made once
	steps := 0.0
	attempt := func(run func() error) error {
		err := s.attempt(in, run)
		steps += float64(s.options.Steps) - max(0, s.left) + float64(len(s.out))/bytesPerStep // the output has a limit of its own
		return err
	}
	spent := work.Measure(times, func() { // as execute does, which may render twice
		steps = 100 // a rendering itself takes some
		if tmpl.program == nil || attempt(s.runProgram) != nil {
			_ = attempt(s.runReference)
		}
	})
	return spent, steps
}

func TestWorstFound(t *testing.T) {
	if race.On {
		t.Skip("it would measure the race detector")
	}
	subject().TestWorst(t)
}

func FuzzWork(f *testing.F) { subject().Fuzz(f) }
