package render

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"text/template"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

const (
	bytesPerStep = 32
	callSteps    = 100
	envSteps     = 100
	keptBuffer   = 64 << 10
)

// run is the state of one rendering at a time. The functions of its template are bound to it, so that a rendering needs
// neither parsing nor binding.
type run struct {
	options *Options
	tmpl    *template.Template
	copies  bool // the object is copied before it is rendered

	in   Input
	left float64 // steps; fractions are text
	out  []byte
	rand *rand.Rand
}

func (t *Template) newRun() *run {
	r := &run{options: &t.options, copies: t.mutates}
	funcs := template.FuncMap{}
	for _, name := range t.names {
		if fn := t.function(r, name); fn != nil {
			funcs[name] = fn
		}
	}
	funcs[callFunc], funcs[rangeFunc], funcs[weighFunc] = r.call, r.over, r.read
	// Clone only fails for templates of html/template.
	r.tmpl, _ = t.root.Clone()
	r.tmpl.Funcs(funcs)
	return r
}

func (r *run) execute(in Input) (err error) {
	defer func() {
		// text/template lets run-time errors of its own through.
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	if in.Env == nil {
		in.Env = placeholder{}
	}
	if r.copies {
		in.Object = object.CopyMap(in.Object)
	}
	r.in, r.left = in, float64(r.options.Steps)
	return r.tmpl.Execute(r, in.Object)
}

// reset drops what must not outlive the rendering.
func (r *run) reset() {
	r.in, r.rand = Input{}, nil
	if r.out = r.out[:0]; cap(r.out) > keptBuffer {
		r.out = nil
	}
}

// Write collects the rendered text; text/template is its only caller.
func (r *run) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil // the counter of calls prints nothing
	}
	if len(r.out)+len(p) > r.options.Output {
		return 0, &limitError{r.options.Output, "bytes of output"}
	}
	r.out = append(r.out, p...)
	return len(p), r.spend(1)
}

// spend takes steps off the budget.
func (r *run) spend(steps float64) error {
	r.left -= steps
	if r.left < 0 {
		return &limitError{r.options.Steps, "steps"}
	}
	return nil
}

func (r *run) call() (string, error) { return "", r.spend(callSteps) }

func (r *run) read(v any) (any, error) { return v, r.weigh(v, 0) }

// over pays for a loop: its passes, which for a map are also what it takes to sort the keys. Iterators, which only
// functions of the user can return, are not counted.
func (r *run) over(v any) (any, error) {
	passes := length(reflect.ValueOf(v))
	if n, ok := object.ToInt64(v); ok {
		passes = float64(n)
	}
	return v, r.spend(1 + max(passes, 0))
}

// random is drawn from the seed only when a template asks for it.
func (r *run) random() *rand.Rand {
	if r.rand == nil {
		r.rand = rand.New(rand.NewPCG(r.in.Seed, 0x7374616765637261))
	}
	return r.rand
}
