package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"k8s.io/apiserver/pkg/warning"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/attributes"
)

// warn adds a warning to an answer.
func warn(w http.ResponseWriter, text string) { addWarning(w.Header(), text) }

func addWarning(header http.Header, text string) {
	header.Add("Warning", fmt.Sprintf("299 - %q", text))
}

// A recorder puts the warnings of webhooks and policies, which come from several goroutines, into the
// header of an answer.
type recorder struct {
	mu     sync.Mutex
	header http.Header
}

var _ warning.Recorder = (*recorder)(nil)

func (r *recorder) AddWarning(_, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	addWarning(r.header, text)
}

// context is that of the writes of a request.
func (t target) context(w http.ResponseWriter, r *http.Request) context.Context {
	ctx := warning.WithWarningRecorder(r.Context(), &recorder{header: w.Header()})
	return attributes.WithRequest(ctx, attributes.Request{FieldManager: r.URL.Query().Get("fieldManager"), IsCollection: t.verb(r) == "deletecollection", Subresource: t.subresource})
}
