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

// run is the state of one rendering at a time.
type run struct {
	template *Template
	options  *Options
	full     *template.Template // with functions bound to this run; nil until it is needed

	in   Input
	left float64 // steps; fractions are text
	out  []byte
	rand *rand.Rand

	// What passages leave, of which write makes a text and fill a value.
	route   []crossing
	prints  []any
	size    int      // bytes of the text, at most
	decided int      // by the last passage
	spans   []extent // of the prints in the text

	atlas // of all renderings

	// What passages keep.
	outline   *outline
	decision  any   // the $ of the outline
	asked     any   // the place of that, as text/template takes it
	slots     []any // the dots and variables
	loops     []loop
	functions []reflect.Value
	stack     []any // arguments of functions

	words vocabulary // of all renderings
}

func (t *Template) newRun() *run {
	r := &run{template: t, options: &t.options, outline: t.outline}
	r.asked = reflect.ValueOf(&r.decision).Elem()
	if o := t.outline; o != nil {
		r.slots, r.loops, r.functions = make([]any, o.slots), make([]loop, o.loops), make([]reflect.Value, len(o.functions))
	}
	return r
}

// execute follows the outline, and executes the whole template if there is none or it gives up. It returns the form of the text; if that is nil the text
// is written.
func (r *run) execute(in Input) (*form, error) {
	if r.outline != nil {
		if end, err := r.outlined(in); err == nil {
			return end, nil
		}
	}
	return nil, r.recovered(func() error {
		r.begin(in)
		if r.full == nil {
			r.full = r.template.bound(r)
		}
		return r.full.Execute(r, r.in.Object)
	})
}

// outlined takes a route that is known, or learns the one that text/template takes.
func (r *run) outlined(in Input) (*form, error) {
	if r.rests() {
		return &form{}, r.follow(in)
	}
	end, err := r.replay(in)
	if end != nil || err != nil {
		r.known++
		return end, err
	}
	if err := r.follow(in); err != nil {
		return nil, err
	}
	return r.learn(), nil
}

func (r *run) follow(in Input) error {
	return r.recovered(func() error {
		r.begin(in)
		return r.outline.root.Execute((*follower)(r), r.asked)
	})
}

// recovered makes errors of panics: text/template lets run-time errors of its own through.
func (r *run) recovered(execute func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return execute()
}

func (r *run) begin(in Input) {
	if in.Env == nil {
		in.Env = placeholder{}
	}
	if r.template.mutates {
		in.Object = object.CopyMap(in.Object)
	}
	r.in, r.left, r.rand = in, float64(r.options.Steps), nil
	r.out, r.stack = r.out[:0], r.stack[:0]
	r.route, r.prints, r.size, r.decided = r.route[:0], r.prints[:0], 0, 0
	if r.outline != nil {
		r.slots[dotSlot], r.slots[rootSlot] = r.in.Object, r.in.Object
	}
}

// bound is the template with its functions for a run.
func (t *Template) bound(r *run) *template.Template {
	funcs := template.FuncMap{callFunc: r.call, rangeFunc: r.over, weighFunc: r.read}
	for _, name := range t.names {
		if fn := t.function(r, name); fn != nil {
			funcs[name] = fn
		}
	}
	// Clone only fails for templates of html/template.
	full, _ := t.root.Clone()
	return full.Funcs(funcs)
}

// reset drops what must not outlive the rendering.
func (r *run) reset() {
	r.in, r.rand = Input{}, nil
	r.decision = nil
	clear(r.slots)
	clear(r.loops)
	clear(r.prints[:cap(r.prints)])
	if len(r.route) > mostWays {
		r.route, r.prints, r.spans = nil, nil, nil
	}
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
