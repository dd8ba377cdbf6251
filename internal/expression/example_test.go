package expression_test

import (
	"fmt"
	"time"

	"github.com/google/cel-go/common/types"

	"github.com/stagecraft-go/stagecraft/internal/expression"
)

func Example() {
	c := expression.NewCompiler(expression.Options{})
	ready, err := c.JQ(`.status.conditions.[] | select(.type == "Ready") | .status`)
	if err != nil {
		panic(err)
	}
	old, err := c.CEL(`SinceSecond(self) > 60.0`, types.BoolType)
	if err != nil {
		panic(err)
	}
	s := expression.NewScope(map[string]any{
		"metadata": map[string]any{"creationTimestamp": "2026-11-20T12:00:00Z"},
		"status":   map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}},
	}, time.Date(2026, 11, 20, 12, 5, 0, 0, time.UTC))

	fmt.Println(ready.Run(s.JQ()))
	fmt.Println(old.Bool(s))
	// Output:
	// [True] <nil>
	// true <nil>
}

func ExampleCompiler_JQ_fault() {
	_, err := expression.NewCompiler(expression.Options{}).JQ(`.status.phase | lenght`)
	fmt.Println(err)
	// Output: function not defined: lenght/0
}
