package apiserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	discoveryv2 "k8s.io/api/apidiscovery/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// errUnknown is the answer for a resource or subresource that does not exist.
func errUnknown() error {
	return statusError(http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource")
}

// errNotStored is the answer for a resource that kube-apiserver has and an in-memory cluster has not.
func errNotStored(t target) error {
	isServed := func(r discoveryv2.APIResourceDiscovery) bool { return r.Resource == t.resource.Resource }
	for _, v := range recorded() {
		if v.Group == t.resource.Group && v.Version == t.resource.Version && slices.ContainsFunc(v.Resources, isServed) {
			return statusError(http.StatusNotFound, metav1.StatusReasonNotFound,
				fmt.Sprintf("the server could not find the requested resource: an in-memory cluster has no %s", t.resource.GroupResource()))
		}
	}
	return errUnknown()
}

// errMethod is the answer for a verb that a resource does not have.
func errMethod() error {
	return statusError(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, "the server does not allow this method on the requested resource")
}

// writeError answers with an error, as a Status.
func writeError(w http.ResponseWriter, r *http.Request, err error) {
	status := statusOf(err)
	if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
	}
	f, err := negotiate(r, true)
	if err != nil {
		f = form{mediaType: jsonType}
	}
	f.as = ""
	if data, err := f.marshalTyped(status); err == nil {
		writeBytes(w, int(status.Code), f.mediaType, data)
	}
}

// statusOf returns the Status of an error.
func statusOf(err error) *metav1.Status {
	var known apierrors.APIStatus
	if !errors.As(err, &known) {
		known = apierrors.NewInternalError(err)
	}
	status := known.Status()
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	if status.Code == 0 {
		status.Code = http.StatusInternalServerError
	}
	return &status
}

func badRequest(format string, args ...any) error {
	return apierrors.NewBadRequest(fmt.Sprintf(format, args...))
}

func writeText(w http.ResponseWriter, code int, text string) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	writeBytes(w, code, "text/plain; charset=utf-8", []byte(text))
}

// writeJSON answers with a value that JSON can always be made of.
func writeJSON(w http.ResponseWriter, code int, v any) { writeAs(w, code, jsonType, v) }

// writeAs is writeJSON with another media type, of JSON with parameters.
func writeAs(w http.ResponseWriter, code int, mediaType string, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	writeBytes(w, code, mediaType, append(data, '\n'))
}

// writeBytes answers. That the client has gone is no error here.
func writeBytes(w http.ResponseWriter, code int, mediaType string, data []byte) {
	w.Header().Set("Content-Type", mediaType)
	w.WriteHeader(code)
	_, _ = w.Write(data)
}
