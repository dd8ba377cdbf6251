package argolua

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"
)

const (
	callDepth    = 200  // of functions that call each other
	registerSize = 1024 // of the values of all calls
	registerMost = 8192 // until which the registers grow
)

// A box is the state in which a script runs once.
type box struct {
	state *lua.LState
	*budget
	now time.Time
}

func newBox(o Options, now time.Time) *box {
	b := &box{budget: &budget{Context: context.Background(), steps: o.Steps, bytes: o.Bytes}, now: now}
	b.state = lua.NewState(lua.Options{
		SkipOpenLibs: true, CallStackSize: callDepth, MinimizeStackMemory: true,
		RegistrySize: registerSize, RegistryMaxSize: registerMost, RegistryGrowStep: registerSize,
	})
	b.state.SetContext(b.budget)
	b.open()
	return b
}

// failure is the error of a script, without the stack of the interpreter.
func (b *box) failure(err error) error {
	if b.exceeded != nil {
		return b.exceeded
	}
	var failed *lua.ApiError
	if errors.As(err, &failed) && failed.Object != nil {
		text, _, _ := strings.Cut(failed.Object.String(), "\nstack traceback:")
		return errors.New(text)
	}
	return err
}

// A budget counts the steps and bytes of a run. The interpreter asks it once for each instruction
// whether the run is done. It never waits, so that it needs no channel while there is a rest.
type budget struct {
	context.Context
	steps, bytes int
	exceeded     error
}

var over = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// Done implements [context.Context].
func (b *budget) Done() <-chan struct{} {
	if b.steps--; b.steps < 0 {
		b.exceed("the script takes too many steps")
	}
	if b.exceeded != nil {
		return over
	}
	return nil
}

// Err implements [context.Context].
func (b *budget) Err() error { return b.exceeded }

func (b *budget) exceed(text string) {
	if b.exceeded == nil {
		b.exceeded = errors.New(text)
	}
}

// charge takes the steps of work that is not counted by instructions. It ends the script if there is
// no rest.
func (b *box) charge(steps int) {
	if b.steps -= steps; b.steps < 0 || steps < 0 {
		b.exceed("the script takes too many steps")
		b.state.RaiseError("%s", b.exceeded)
	}
}

// make charges the bytes of a string before it is made.
func (b *box) make(n int) {
	if b.bytes -= n; b.bytes < 0 || n < 0 {
		b.exceed("the script makes too many bytes of strings")
		b.state.RaiseError("%s", b.exceeded)
	}
	b.charge(n / 64)
}

// value converts a value of an object. Numbers are float64, as always in Lua.
func (b *box) value(v any) lua.LValue {
	switch v := v.(type) {
	case nil:
		return lua.LNil
	case bool:
		return lua.LBool(v)
	case string:
		return lua.LString(v)
	case map[string]any:
		t := b.state.CreateTable(0, len(v))
		for key, inner := range v {
			t.RawSetString(key, b.value(inner))
		}
		return t
	case []any:
		t := b.state.CreateTable(len(v), 0)
		for _, inner := range v {
			t.Append(b.value(inner))
		}
		return t
	}
	return numberOf(v)
}

func numberOf(v any) lua.LValue {
	switch n := v.(type) {
	case int64:
		return lua.LNumber(n)
	case float64:
		return lua.LNumber(n)
	case int:
		return lua.LNumber(n)
	case fmt.Stringer: // json.Number
		return lua.LString(n.String())
	}
	return lua.LString(fmt.Sprint(v))
}
