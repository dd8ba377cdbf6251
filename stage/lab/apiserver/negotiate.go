package apiserver

import (
	"cmp"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	jsonType     = "application/json"
	yamlType     = "application/yaml"
	protobufType = "application/vnd.kubernetes.protobuf"
)

// A clause is one alternative of an Accept header.
type clause struct {
	mediaType  string
	parameters map[string]string
	quality    float64
}

// accepted returns the alternatives of a request's Accept header, the best first. Without one,
// everything is accepted.
func accepted(r *http.Request) (clauses []clause) {
	for _, part := range strings.Split(strings.Join(r.Header.Values("Accept"), ","), ",") {
		mediaType, parameters, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		c := clause{mediaType, parameters, 1}
		if q, err := strconv.ParseFloat(parameters["q"], 64); err == nil {
			c.quality = q
		}
		clauses = append(clauses, c)
	}
	if len(clauses) == 0 {
		return []clause{{mediaType: "*/*", quality: 1}}
	}
	slices.SortStableFunc(clauses, func(a, b clause) int { return cmp.Compare(b.quality, a.quality) })
	return clauses
}

// A form is how an answer is written.
type form struct {
	mediaType string // jsonType, yamlType or protobufType
	as        string // "", "Table" or "PartialObjectMetadata": what objects are turned into
	version   string // of the group meta.k8s.io, if as is not empty
}

// negotiate returns the first form that a request accepts and a server can write: protobuf only for
// kinds that have Go types.
func negotiate(r *http.Request, hasProtobuf bool) (form, error) {
	refusal := notAcceptable(hasProtobuf)
	for _, c := range accepted(r) {
		f := form{mediaType: c.mediaType}
		switch c.mediaType {
		case "*/*":
			f.mediaType = jsonType
		case jsonType, yamlType:
		case protobufType:
			if !hasProtobuf && c.parameters["as"] != "PartialObjectMetadata" && c.parameters["as"] != "PartialObjectMetadataList" {
				continue
			}
		default:
			continue
		}
		if f.setTransform(c) && !(f.as == "Table" && f.mediaType == protobufType) {
			return f, nil
		}
		refusal = noTransform(hasProtobuf)
	}
	return form{}, refusal
}

// setTransform reads into what objects are to be turned. It is false for what is not known.
func (f *form) setTransform(c clause) bool {
	as := strings.TrimSuffix(c.parameters["as"], "List")
	switch {
	case as == "":
		return true
	case as != "Table" && as != "PartialObjectMetadata", c.parameters["g"] != metav1.GroupName, c.parameters["v"] != "v1" && c.parameters["v"] != "v1beta1":
		return false
	}
	f.as, f.version = as, metav1.GroupName+"/"+c.parameters["v"]
	return true
}

// notAcceptable is the answer to a request that accepts nothing that there is.
func notAcceptable(hasProtobuf bool) error {
	types := []string{jsonType, yamlType}
	if hasProtobuf {
		types = append(types, protobufType)
	}
	types = append(types, jsonType+";stream=watch")
	if hasProtobuf {
		types = append(types, protobufType+";stream=watch")
	}
	return statusError(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
		"406: Not Acceptable\n\nAvailable representations: "+strings.Join(types, ", "))
}

// noTransform is the answer to a request that accepts a type of an object's form that there is not.
func noTransform(hasProtobuf bool) error {
	types := jsonType + ", " + yamlType
	if hasProtobuf {
		types += ", " + protobufType
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusNotAcceptable, Reason: metav1.StatusReasonNotAcceptable,
		Message: "only the following media types are accepted: " + types}}
}

// statusError returns an error with a reason and a message that no function of api/errors gives.
func statusError(code int32, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason,
		Message: message, Details: &metav1.StatusDetails{}}}
}
