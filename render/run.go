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

	roots [maxRoots]any // of the passage that is written
	stack []any         // arguments of its functions

	words vocabulary // of all renderings
}

func (t *Template) newRun() *run {
	r := &run{options: &t.options, copies: t.mutates}
	funcs := template.FuncMap{}
	for _, name := range t.names {
		if fn := t.function(r, name); fn != nil {
			funcs[name] = fn
		}
	}
	for _, p := range t.passages {
		funcs[p.name] = r.passage(p)
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
	clear(r.roots[:])
	clear(r.stack[:cap(r.stack)])
	if r.out = r.out[:0]; cap(r.out) > keptBuffer {
		r.out = nil
	}
}

// Write collects the rendered text; text/template is its only caller.
func (r *run) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil // the counter of calls prints nothing
	}
	if err := r.room(len(p)); err != nil {
		return 0, err
	}
	r.out = append(r.out, p...)
	return len(p), r.spend(1)
}

// room fails if there is none for so many bytes.
func (r *run) room(bytes int) error {
	if len(r.out)+bytes > r.options.Output {
		return &limitError{r.options.Output, "bytes of output"}
	}
	return nil
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

// read weighs v. Like over it panics with its error, which text/template takes as returned: a second result takes time in
// every call.
func (r *run) read(v any) any {
	must(r.weigh(v, 0))
	return v
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// over pays for a loop: its passes, which for a map are also what it takes to sort the keys. Iterators, which only
// functions of the user can return, are not counted.
func (r *run) over(v any) any {
	passes := length(reflect.ValueOf(v))
	if n, ok := object.ToInt64(v); ok {
		passes = float64(n)
	}
	must(r.spend(1 + max(passes, 0)))
	return v
}

// random is drawn from the seed only when a template asks for it.
func (r *run) random() *rand.Rand {
	if r.rand == nil {
		r.rand = rand.New(rand.NewPCG(r.in.Seed, 0x7374616765637261))
	}
	return r.rand
}
