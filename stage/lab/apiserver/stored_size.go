package apiserver

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// sizes are hooks that refuse an object which etcd would refuse, so that no object grows without
// end.
func sizes() memory.Hooks { return memory.Hooks{Name: "sizes", Validate: checkSize} }

func checkSize(v *memory.Review) error {
	left := spare(v.New.Object, maxStored)
	if v.Weigh(maxStored - left); left >= 0 {
		return nil
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: 500, Message: "etcdserver: request is too large"}}
}

// spare returns what the JSON of a value leaves of a size; negative if it leaves nothing.
func spare(v any, left int) int {
	switch v := v.(type) {
	case string:
		return left - 2 - len(v)
	case map[string]any:
		left -= 2
		for name, member := range v {
			if left = spare(member, left-len(name)-4); left < 0 {
				return left
			}
		}
	case []any:
		left -= 2
		for _, item := range v {
			if left = spare(item, left-1); left < 0 {
				return left
			}
		}
	default:
		left -= 4
	}
	return left
}
