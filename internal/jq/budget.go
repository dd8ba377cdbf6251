package jq

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
)

// budget is the remaining work of one run of gojq. As a context, it ends the run after a number of
// steps, because gojq calls Done before each instruction. As a value in the program, it receives
// the charges of guarded operators.
type budget struct {
	context.Context // without an end

	steps, size int
	states      int     // of the regular expressions of this run
	limits      Options // for the texts of errors
	failure     error
}

// done is closed.
var done = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Done counts a step.
func (b *budget) Done() <-chan struct{} {
	if b.steps--; b.steps < 0 && b.failure == nil {
		b.failure = fmt.Errorf("step budget of %d exceeded", b.limits.Steps)
	}
	if b.failure != nil {
		return done
	}
	return nil
}

// Err returns the error that ended the run.
func (b *budget) Err() error { return b.failure }

// charge subtracts n bytes. Once it fails, the run ends, even if the program catches errors.
func (b *budget) charge(n int) error {
	if b.failure == nil && (n < 0 || n > b.size) {
		b.failure = fmt.Errorf("size budget of %d bytes exceeded", b.limits.Size)
	}
	b.size -= n
	return b.failure
}

const (
	elementSize = 16     // bytes of an element of a list or map, about
	maxDepth    = 10_000 // of nested lists and maps, well within what recursion can take
)

// times multiplies sizes. A product above every limit stays above it, without overflow.
func times(a, b int) int {
	if a > 0 && b > 1<<50/a {
		return 1 << 50
	}
	return a * b
}

// shallowSize returns the size of v without the content of its elements.
func shallowSize(v any) int {
	switch x := v.(type) {
	case string:
		return elementSize + len(x)
	case []any:
		return elementSize + times(elementSize, len(x))
	case map[string]any:
		return elementSize + times(2*elementSize, len(x))
	case *big.Int:
		n := x.BitLen() / 8 // arithmetic and printing take longer than linear time
		return elementSize + n + times(n, n)/64
	case json.Number: // of fromjson; gojq parses it again for each operation
		return elementSize + len(x) + times(len(x), len(x))/64
	}
	return elementSize
}

// deepSize returns the size of v with all its parts. It stops at a size above limit: because of
// sharing, a small value of gojq can look larger than any memory.
func deepSize(v any, limit int) int { return deepSizeWithin(v, limit, maxDepth) }

func deepSizeWithin(v any, limit, depth int) int {
	n := shallowSize(v)
	if depth == 0 {
		return times(limit, 2) + 1
	}
	switch x := v.(type) {
	case []any:
		for i := 0; i < len(x) && n <= limit; i++ {
			n += deepSizeWithin(x[i], limit-n, depth-1)
		}
	case map[string]any:
		for k, e := range x {
			if n += len(k) + deepSizeWithin(e, limit-n, depth-1); n > limit {
				break
			}
		}
	}
	return n
}
