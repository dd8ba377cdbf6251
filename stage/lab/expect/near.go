package expect

import "strings"

// nearest returns the known name that differs from the given name in the fewest letters, for an
// error message. It returns "" if all names differ in too many letters. Case does not count.
func nearest(name string, names []string) (best string) {
	least := len(name)
	for _, n := range names {
		if d := distance(strings.ToLower(name), strings.ToLower(n)); d < least && d <= max(1, len(n)/4) {
			best, least = n, d
		}
	}
	return best
}

// distance is the number of edits from a to b. An edit inserts, deletes or changes a letter, or
// swaps two neighboring letters.
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
