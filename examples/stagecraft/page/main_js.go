// Page is the page to play with: packages stage, kstatus and staged in a browser, without a server. It is built by
// examples/stagecraft/packaging/page, as a part of index.html.
//
// The program sets the function stagecraft, which takes and returns JSON as package answer describes it.
package main

import (
	"context"
	"syscall/js"
	"time"

	"github.com/stagecraft-go/stagecraft/examples/stagecraft/internal/answer"
)

func main() {
	js.Global().Set("stagecraft", js.FuncOf(func(_ js.Value, args []js.Value) any {
		return string(answer.To(limit{context.Background(), time.Now().Add(longest)}, []byte(args[0].String())))
	}))
	select {}
}

// longest is how long an answer may take, if nothing in it asks less often for the time.
const longest = 8 * time.Second

// A limit is a context that ends at a time. It needs no timer, for which a busy program of WebAssembly has no time.
type limit struct {
	context.Context
	end time.Time
}

func (l limit) Err() error {
	if time.Now().After(l.end) {
		return context.DeadlineExceeded
	}
	return nil
}
