// Package lists has functions of slices that package slices does not have.
package lists

// Filter returns the elements for which a function is true, in a new list.
func Filter[T any](all []T, which func(T) bool) (kept []T) {
	for _, v := range all {
		if which(v) {
			kept = append(kept, v)
		}
	}
	return kept
}

// AllButLast returns a list without its last n elements. A list of at most n elements becomes
// empty.
func AllButLast[T any](all []T, n int64) []T { return all[:max(0, int64(len(all))-max(0, n))] }

// Count returns for how many elements a function is true.
func Count[T any](all []T, which func(T) bool) (n int64) {
	for _, v := range all {
		if which(v) {
			n++
		}
	}
	return n
}
