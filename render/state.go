package render

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"text/template"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/internal/position"
)

const (
	bytesPerStep = 32
	callSteps    = 10
	envSteps     = 10
	keptBuffer   = 64 << 10
)

// state is the state of one rendering at a time. A Template reuses it, because two parts are costly
// to make: the functions, and the copy of the template that text/template executes.
type state struct {
	template  *Template
	options   *Options
	reference *template.Template       // what text/template executes; nil until it is needed
	functions map[string]reflect.Value // that programs call by reflection, bound to this state

	in   Input
	left float64 // steps; fractions are text
	out  []byte
	rand *rand.Rand

	parser position.YAMLParser // of the text

	frame []any // the dots and variables of the definition that is executed
	depth int   // of template calls
	stack []any // arguments of functions
}

func (t *Template) newState() *state {
	return &state{template: t, options: &t.options, functions: map[string]reflect.Value{}}
}

// execute runs the program of the template. If the template has no program, or the program gives
// up, text/template executes the whole template.
func (s *state) execute(in Input) error {
	if s.template.program != nil {
		if err := s.attempt(in, s.runProgram); err == nil {
			return nil
		}
	}
	return s.attempt(in, s.runReference)
}

// attempt begins a rendering and turns panics into errors, because text/template does not recover
// from all its panics.
func (s *state) attempt(in Input, run func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	s.begin(in)
	return run()
}

func (s *state) begin(in Input) {
	if in.Env == nil {
		in.Env = placeholder{}
	}
	if s.template.mutates {
		in.Object = object.CopyMap(in.Object)
	}
	s.in, s.left, s.rand = in, float64(s.options.Steps), nil
	s.out, s.stack, s.depth = s.out[:0], s.stack[:0], 0
}

func (s *state) runProgram() error {
	s.call(s.template.program, s.in.Object)
	return nil
}

func (s *state) runReference() error {
	if s.reference == nil {
		s.reference = s.template.bound(s)
	}
	return s.reference.Execute(s, s.in.Object)
}

// bound is the template with its functions for a state.
func (t *Template) bound(s *state) *template.Template {
	funcs := template.FuncMap{callFunc: s.payCall, rangeFunc: s.payRange, weighFunc: s.payValue}
	for _, name := range t.names {
		if fn := t.function(s, name); fn != nil {
			funcs[name] = fn
		}
	}
	// Clone only fails for templates of html/template.
	clone, _ := t.root.Clone()
	return clone.Funcs(funcs)
}

// reset drops what must not outlive the rendering.
func (s *state) reset() {
	s.in, s.rand, s.frame = Input{}, nil, nil
	clear(s.stack[:cap(s.stack)])
	if cap(s.out) > keptBuffer {
		s.out = nil
	}
}

// Write collects the rendered text; text/template is its only caller.
func (s *state) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil // the counter of calls prints nothing
	}
	if len(s.out)+len(p) > s.options.Output {
		return 0, &limitError{s.options.Output, "bytes of output"}
	}
	s.out = append(s.out, p...)
	return len(p), s.withdraw(1)
}

func (s *state) withdraw(steps float64) error {
	s.left -= steps
	if s.left < 0 {
		return &limitError{s.options.Steps, "steps"}
	}
	return nil
}

// spend subtracts steps from the budget. It panics with an error if the budget is used up;
// text/template treats this panic as an error that the called function returned.
func (s *state) spend(steps float64) { must(s.withdraw(steps)) }

func (s *state) spendText(bytes float64) { s.spend(bytes / bytesPerStep) }

// payCall pays for a template call.
func (s *state) payCall() string {
	s.spend(callSteps)
	return ""
}

// payValue weighs v.
func (s *state) payValue(v any) any {
	s.weigh(v, 0)
	return v
}

// payRange pays for the iterations of a loop. For a map this also pays for sorting the keys.
// Iterators are not counted; only functions of the user can return them.
func (s *state) payRange(v any) any {
	passes := length(reflect.ValueOf(v))
	if n, ok := object.ToInt64(v); ok {
		passes = float64(n)
	}
	s.spend(1 + max(passes, 0))
	return v
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// errGaveUp is the panic of a program that gives up: text/template then does the rendering.
var errGaveUp = errors.New("left to text/template")

func giveUp() { panic(errGaveUp) }

// random is made from the seed when a template first uses it.
func (s *state) random() *rand.Rand {
	if s.rand == nil {
		s.rand = rand.New(rand.NewPCG(s.in.Seed, 0x7374616765637261))
	}
	return s.rand
}
