package work

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Choices is a text that decides, byte by byte, between alternatives. A fuzzer changes it, and so
// changes what is written from it.
type Choices struct {
	data []byte
	left int // of the depth
}

// NewChoices returns the Choices of a text.
func NewChoices(data []byte) *Choices { return &Choices{data: data, left: 5} }

// N returns a number from 0 to n, exclusive; 0 once the text has ended.
func (c *Choices) N(n int) int {
	if len(c.data) == 0 {
		return 0
	}
	v := int(c.data[0])
	c.data = c.data[1:]
	if n > 256 && len(c.data) > 0 {
		v, c.data = v<<8+int(c.data[0]), c.data[1:]
	}
	return v % n
}

// One returns one of the alternatives.
func (c *Choices) One(of ...string) string { return of[c.N(len(of))] }

// Deeper calls write one level deeper, or returns leaf if the text is at its end or deep enough.
func (c *Choices) Deeper(leaf string, write func() string) string {
	if c.left == 0 || len(c.data) == 0 {
		return leaf
	}
	c.left--
	defer func() { c.left++ }()
	return write()
}

// Fill writes something for each of the words ARG, in a text.
func (c *Choices) Fill(text string, write func() string) string {
	parts := strings.Split(text, "ARG")
	out := parts[0]
	for _, part := range parts[1:] {
		out += write() + part
	}
	return out
}

// A Subject is a language whose evaluations are charged.
type Subject struct {
	Write    func(*Choices) string
	Evaluate func(text string, times int) (Spent, float64) // the work, and the charge in units; 0 for what does not compile
	Bound    Spent                                         // of a unit, in sound evaluations
}

// A Finding is an expression with its work for a unit of charge, compared with Subject.Bound.
type Finding struct {
	Text  string
	Ratio float64
	data  []byte
}

// ratio is the work of a text for its charge, compared with the bound. What seems to take long is
// measured again.
func (s Subject) ratio(text string) float64 {
	ratio := 0.0
	for _, times := range []int{1, 3, 9} {
		spent, units := s.Evaluate(text, times)
		if units == 0 {
			return 0
		}
		ratio = max(float64(spent.Bytes)/units/float64(s.Bound.Bytes), float64(spent.Time)/units/float64(s.Bound.Time))
		if ratio < 0.7 {
			break
		}
	}
	return ratio
}

// Search looks for expressions that do much work for their charge until the duration is over, and
// returns the worst, each of another shape, and how many it evaluated. It changes the worst it knows
// at random (hill climbing), and begins anew from time to time.
func (s Subject) Search(seed uint64, duration time.Duration, report func(Finding)) (worst []Finding, evaluated int) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	for end := time.Now().Add(duration); time.Now().Before(end); evaluated++ {
		data := randomly(rnd)
		if len(worst) > 0 && rnd.IntN(3) > 0 {
			data = changed(rnd, worst[rnd.IntN(len(worst))].data)
		}
		text := s.Write(NewChoices(data))
		f := Finding{text, s.ratio(text), data}
		if len(worst) < kept || f.Ratio > worst[len(worst)-1].Ratio {
			if added := add(&worst, f); added && f.Ratio > 1 && report != nil {
				report(f)
			}
		}
	}
	return worst, evaluated
}

const kept = 40

// add keeps the worst finding of each shape, and reports whether f is one.
func add(worst *[]Finding, f Finding) bool {
	same := slices.IndexFunc(*worst, func(other Finding) bool { return shape(other.Text) == shape(f.Text) })
	switch {
	case same >= 0 && (*worst)[same].Ratio >= f.Ratio:
		return false
	case same >= 0:
		(*worst)[same] = f
	default:
		*worst = append(*worst, f)
	}
	slices.SortFunc(*worst, func(a, b Finding) int { return cmp.Compare(b.Ratio, a.Ratio) })
	*worst = (*worst)[:min(kept, len(*worst))]
	return true
}

// shape is the last function of an expression, so that findings differ.
func shape(text string) string {
	words := strings.FieldsFunc(text, func(r rune) bool {
		return !(r == '_' || r == '@' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z')
	})
	longest := ""
	for _, w := range words {
		if len(w) > len(longest) {
			longest = w
		}
	}
	return fmt.Sprint(longest, len(words)/6)
}

func randomly(rnd *rand.Rand) []byte {
	data := make([]byte, 4+rnd.IntN(60))
	for i := range data {
		data[i] = byte(rnd.IntN(256))
	}
	return data
}

func changed(rnd *rand.Rand, data []byte) []byte {
	out := slices.Clone(data)
	for range 1 + rnd.IntN(3) {
		at := rnd.IntN(len(out))
		switch rnd.IntN(4) {
		case 0:
			out = slices.Insert(out, at, byte(rnd.IntN(256)))
		case 1:
			if len(out) > 4 {
				out = slices.Delete(out, at, at+1)
			}
		default:
			out[at] = byte(rnd.IntN(256))
		}
	}
	return out
}
