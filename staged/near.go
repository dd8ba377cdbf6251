package staged

import "strings"

// nearest is the name that one was perhaps meant to be; "" if it is like none of them.
func nearest(name string, names []string) (best string) {
	least := len(name)
	for _, n := range names {
		if d := distance(strings.ToLower(name), strings.ToLower(n)); d < least && d <= max(1, len(n)/4) {
			best, least = n, d
		}
	}
	return best
}

// distance is how many letters must be put in, taken out or changed to get from a to b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
