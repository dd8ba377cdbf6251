package position

import "strings"

// Nearest returns the one of names that differs from name in the fewest letters; "" if all differ
// in too many. Case does not count.
func Nearest(name string, names []string) (best string) {
	least := len(name)
	for _, n := range names {
		if d := distance(strings.ToLower(name), strings.ToLower(n)); d < least && d <= max(1, len(n)/4) {
			best, least = n, d
		}
	}
	return best
}

// distance returns the number of letters to insert, delete, change or swap with the next letter, to
// get from a to b.
func distance(a, b string) int {
	before, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next[0] = i + 1
		for j := range len(b) {
			change := row[j]
			if a[i] != b[j] {
				change++
			}
			next[j+1] = min(change, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row, next = row, next, before
	}
	return row[len(b)]
}
