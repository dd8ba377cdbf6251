package apiserver

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// sizes are hooks that refuse an object which etcd would refuse, so that no object grows without
// end: before field management and validation, whose work grows with it, and at the end.
func sizes() memory.Hooks {
	return memory.Hooks{Name: "sizes", Default: checkSize, Validate: checkSize}
}

func checkSize(v *memory.Review) error {
	var s size
	s.add(v.New.Object)
	if v.Weigh(s.memory); s.text <= maxStored {
		return nil
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: 500, Message: "etcdserver: request is too large"}}
}

// A size is how many bytes a value has, about.
type size struct {
	text   int // as JSON
	memory int // as maps, lists and strings of Go
}

// add adds a value. It ends when the text is too long.
func (s *size) add(v any) {
	switch v := v.(type) {
	case string:
		s.text += 2 + len(v)
		s.memory += 16 + len(v)
	case map[string]any:
		s.text += 2
		s.memory += mapBytes(len(v))
		for name, member := range v {
			s.text += 4 + len(name)
			s.memory += len(name)
			if s.add(member); s.text > maxStored {
				return
			}
		}
	case []any:
		s.text += 2
		s.memory += 24
		for _, item := range v {
			s.text++
			s.memory += 16
			if s.add(item); s.text > maxStored {
				return
			}
		}
	case int64, float64:
		s.text += 4
		s.memory += 8
	default:
		s.text += 4
	}
}

// mapBytes is the size of a Go map from strings to values with n entries: a header, and eight entries of
// 32 bytes with a word for the eight, or twice as many as soon as seven eighths are in use.
func mapBytes(n int) int {
	const header, group = 48, 8 + 8*32
	if n == 0 {
		return header
	}
	groups := 1
	for n > 8 && n > 7*groups {
		groups *= 2
	}
	return header + groups*group
}
