package webhooks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// longestAnswer is how long the answer of a webhook may be: a patch of an object in base64.
const longestAnswer = 8 << 20

// bounded limits the answers of webhooks: their length, and the work of their JSON patches, for
// which the plugins of k8s.io/apiserver have no limit.
func (h Handlers) bounded(next http.RoundTripper) http.RoundTripper {
	return boundedTransport{next, h.Waits}
}

type boundedTransport struct {
	http.RoundTripper
	waits func(context.Context)
}

// RoundTrip sends a review and reads the whole answer.
func (t boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	var asked []byte
	if r.Body != nil {
		var err error
		if asked, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(asked))
	}
	if t.waits != nil {
		t.waits(r.Context())
	}
	response, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answered, err := io.ReadAll(io.LimitReader(response.Body, longestAnswer+1))
	switch {
	case err != nil:
		return nil, err
	case len(answered) > longestAnswer:
		return nil, fmt.Errorf("the answer is longer than %d bytes", longestAnswer)
	}
	response.Body = io.NopCloser(bytes.NewReader(answered))
	response.ContentLength = int64(len(answered))
	if err := checkPatch(asked, answered); err != nil {
		return nil, err
	}
	return response, nil
}

// checkPatch returns an error if the patch of an answer takes more work than a patch of a client
// may.
func checkPatch(asked, answered []byte) error {
	var answer struct {
		Response struct {
			Patch []byte `json:"patch"`
		} `json:"response"`
	}
	if json.Unmarshal(answered, &answer) != nil || len(answer.Response.Patch) == 0 {
		return nil
	}
	var review struct {
		Request struct {
			Object map[string]any `json:"object"`
		} `json:"request"`
	}
	if json.Unmarshal(asked, &review) != nil {
		return nil
	}
	return memory.CheckJSONPatch(review.Request.Object, answer.Response.Patch)
}
