package webhooks

// kept has what was made of objects of the cluster, by a key. If that is too many or too much, it forgets all and
// begins anew: each can be made again.
type kept[T any] struct {
	of    map[string]T
	bytes int
}

const (
	mostKept  = 256
	mostBytes = 32 << 20
)

// put keeps what was made of objects of about that size. The newest is kept whatever its size; what it replaces is
// counted until all are forgotten.
func (k *kept[T]) put(key string, made T, bytes int) {
	if k.of == nil || len(k.of) >= mostKept || k.bytes+bytes > mostBytes {
		k.of, k.bytes = map[string]T{}, 0
	}
	k.of[key] = made
	k.bytes += bytes
}

// sizeOf is how many bytes a value takes, about.
func sizeOf(v any) int {
	const perValue = 64
	n := perValue
	switch v := v.(type) {
	case string:
		n += len(v)
	case map[string]any:
		for name, member := range v {
			n += len(name) + sizeOf(member)
		}
	case []any:
		for _, item := range v {
			n += sizeOf(item)
		}
	}
	return n
}
