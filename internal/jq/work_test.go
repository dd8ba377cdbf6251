package jq

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stagecraft-go/stagecraft/internal/dev/race"
	"github.com/stagecraft-go/stagecraft/internal/dev/work"
)

// written are texts for the search, with ARG for each part.
func written(t testing.TB) []string {
	forms := []string{"ARG[ARG]", "ARG[ARG:ARG]", "ARG[]", "ARG[0]", "ARG[1:]", "ARG[-1:]", "{(ARG): ARG}", "[ARG]", "[ARG, ARG]", "ARG, ARG", `"\(ARG)-\(ARG)"`, "-(ARG)", "ARG + ARG", "ARG - ARG",
		"ARG * ARG", "ARG / ARG", "ARG % ARG", "ARG == ARG", "ARG < ARG", "ARG and ARG", "ARG // ARG", "(ARG)?", "try error(ARG) catch .", "ARG as $x | ARG", "ARG as [$x] | ARG", "ARG as {(ARG): $x} | ARG",
		"if ARG then ARG else ARG end", "reduce ARG as $x (ARG; ARG)", "foreach ARG as $x (ARG; ARG; ARG)", "ARG |= ARG", "ARG = ARG", "ARG += ARG", "ARG //= ARG", "label $f | ARG | ., break $f",
		"def f: ARG; ARG | f", "@base64 \"\\(ARG)\"", "ARG | @csv", "ARG | @sh", "ARG | @html", "ARG | @uri", "ARG | @json", "ARG | @tsv", "ARG | @base64d", "..", "[range(40) | ARG]", "ARG | ARG", "first(ARG)"}
	for _, function := range gojqFunctions(t) {
		name, arity, _ := strings.Cut(function, "/")
		if refusal(name) != "" {
			continue
		}
		args := map[string]string{"0": "", "1": "(ARG)", "2": "(ARG; ARG)", "3": "(ARG; ARG; ARG)", "4": "(ARG; ARG; ARG; ARG)"}[arity]
		forms = append(forms, "ARG | "+name+args)
	}
	return forms
}

var leaves = strings.Fields(`.s .u .k .short .o .p .l .m .t .n .d .few .few2 .spaces .digits .json . 0 1 2 -1 1.5 "a" "" "g" null [0] ["s",0] {"start":0,"end":2} "b$" "(a{0,9})+c" "%A" $in.s $in.l $in.o $in.d $x
	1e308 5e-324 99999999999999999999999999 .l[] .o[] .t[] range(20)`)

// subject is jq for the search for the worst work for a charge. A unit is a byte; a step counts as
// 160 bytes.
func subject(t testing.TB) work.Subject {
	forms, objects := written(t), map[string]*Input{}
	for _, char := range chars {
		objects[char] = &Input{Object: grown(600, char)}
	}
	var write func(c *work.Choices) string
	write = func(c *work.Choices) string {
		return c.Deeper(c.One(leaves...), func() string {
			if c.N(3) == 0 {
				return c.One(leaves...)
			}
			return "(" + c.Fill(forms[c.N(len(forms))], func() string { return write(c) }) + ")"
		})
	}
	return work.Subject{
		Write: func(c *work.Choices) string { return c.One(chars...) + " " + write(c) },
		Bound: work.Spent{Bytes: allocatedOfUnit, Time: timeOfUnit},
		Evaluate: func(text string, times int) (work.Spent, float64) {
			char, source, _ := strings.Cut(text, " ")
			in := objects[char]
			if in == nil {
				return work.Spent{}, 0
			}
			return evaluated(source, in, 8, times)
		},
	}
}

var chars = []string{"a", "é", "日", `\xff`}

func TestWorstFound(t *testing.T) {
	if race.On {
		t.Skip("it would measure the race detector")
	}
	subject(t).TestWorst(t)
}

func FuzzWork(f *testing.F) { subject(f).Fuzz(f) }

// TestSearchWritesEveryForm checks that the search can write each function.
func TestSearchWritesEveryForm(t *testing.T) {
	s, missing := subject(t), map[string]bool{}
	for _, form := range written(t) {
		if name, found := strings.CutPrefix(form, "ARG | "); found && name != "ARG" {
			name, _, _ = strings.Cut(name, "(")
			missing[name] = true
		}
	}
	for i := range 60_000 {
		text := s.Write(work.NewChoices([]byte{byte(i), 7, byte(i >> 3), byte(i >> 8), byte(i), 5, byte(i >> 2), 9, 8, 1, byte(i >> 4)}))
		for name := range missing {
			if strings.Contains(text, "| "+name) {
				delete(missing, name)
			}
		}
	}
	if len(missing) > 0 {
		t.Fatal("never written:", slices.Sorted(maps.Keys(missing)))
	}
}
