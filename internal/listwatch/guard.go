package listwatch

import (
	"fmt"
	"runtime/debug"
)

// A PanicError is a panic of a transport, as an error.
type PanicError struct {
	Value any    // what it panicked with
	Stack []byte // of its goroutine
}

// Error prints the value and the stack.
func (e *PanicError) Error() string {
	return fmt.Sprintf("the transport panicked: %v\n%s", e.Value, e.Stack)
}

// Guard calls a transport. It turns a panic into an error, so that a client that panics on a bad
// answer does not end a program with many objects.
func Guard[T any](call func() (T, error)) (result T, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return call()
}
