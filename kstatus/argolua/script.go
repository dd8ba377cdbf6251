package argolua

import (
	"errors"
	"fmt"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

// Options are the limits of a script. The zero value is the default.
type Options struct {
	Steps int // instructions for a verdict; 0: 200,000
	Bytes int // of all strings that a verdict makes; 0: 4 MiB
}

func (o Options) withDefaults() Options {
	if o.Steps == 0 {
		o.Steps = 200_000
	}
	if o.Bytes == 0 {
		o.Bytes = 4 << 20
	}
	return o
}

// A Health is what a script returns.
type Health struct {
	Status  string // Healthy, Progressing, Degraded, Suspended, Missing, Unknown, or "" for no opinion
	Message string
}

// A Script is a compiled health script. It is immutable and safe for concurrent use.
type Script struct {
	program *lua.FunctionProto
	options Options
}

// Compile compiles a script. The name is that of the text in errors, such as a file name.
func Compile(name, source string, o Options) (*Script, error) {
	if o.Steps < 0 || o.Bytes < 0 {
		return nil, fmt.Errorf("a limit is negative: %+v", o)
	}
	statements, err := parse.Parse(strings.NewReader(source), name)
	if err != nil {
		return nil, syntaxError(name, err)
	}
	program, err := lua.Compile(limited(statements), name)
	if err != nil {
		return nil, syntaxError(name, err)
	}
	return &Script{program, o.withDefaults()}, nil
}

// syntaxError returns an error of the form name:line:column: what is wrong.
func syntaxError(name string, err error) error {
	var at *parse.Error
	if errors.As(err, &at) {
		return fmt.Errorf("%s:%d:%d: %s near %q", name, at.Pos.Line, at.Pos.Column, at.Message, at.Token)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// Health runs the script on an object, which it does not change. The error says that the script
// failed or exceeded a limit.
func (s *Script) Health(obj map[string]any, now time.Time) (h Health, err error) {
	b := newBox(s.options, now)
	defer b.state.Close()
	defer func() {
		if p := recover(); p != nil { // gopher-lua does so when registers overflow in a call at the end of a function
			h, err = Health{}, fmt.Errorf("the interpreter failed: %v", p)
		}
	}()
	b.state.SetGlobal("obj", b.value(obj))
	b.state.Push(b.state.NewFunctionFromProto(s.program))
	if err := b.state.PCall(0, 1, nil); err != nil {
		return Health{}, b.failure(err)
	}
	return healthOf(b.state.Get(-1))
}

// healthOf reads the result of a script as Argo CD does: nil and an empty table are no opinion.
func healthOf(v lua.LValue) (Health, error) {
	table, ok := v.(*lua.LTable)
	switch {
	case v == lua.LNil:
		return Health{}, nil
	case !ok:
		return Health{}, fmt.Errorf("the script returned a %s, and not a table", v.Type())
	}
	status, message := table.RawGetString("status"), table.RawGetString("message")
	h := Health{Status: lua.LVAsString(status), Message: lua.LVAsString(message)}
	if _, known := statuses[h.Status]; !known && h.Status != "" {
		return Health{}, fmt.Errorf("the script returned the status %.40q", h.Status)
	}
	return h, nil
}

// statuses are the statuses of Argo CD.
var statuses = map[string]struct {
	status kstatus.Status
	reason string
}{
	"Healthy": {kstatus.Current, ""}, "Progressing": {kstatus.InProgress, "Progressing"},
	"Degraded": {kstatus.Failed, "Degraded"}, "Suspended": {kstatus.Current, "Suspended"},
	"Missing": {kstatus.InProgress, "Missing"}, "Unknown": {kstatus.Unknown, "HealthUnknown"},
}

// Rule is the script as a rule.
func (s *Script) Rule(o kstatus.Object) (kstatus.Result, bool) {
	h, err := s.Health(o.Fields(), o.Now())
	if err != nil {
		return kstatus.Unknown.Because("ScriptFailed", err.Error()), true
	}
	if h.Status == "" {
		return kstatus.Result{}, false
	}
	is := statuses[h.Status]
	r := is.status.Because(is.reason, h.Message)
	r.Suspended = h.Status == "Suspended"
	return r, true
}
