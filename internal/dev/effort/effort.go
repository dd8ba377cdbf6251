// Package effort tells tests how much of what is random or repeated they do: a tenth, so that the plain
// test command ends soon, or all of it if STAGECRAFT_ALL is set. .ci/run plays all of it once, without
// the race detector, which internal/dev/test sees to.
package effort

import "os"

// All says whether tests do all that they can.
var All = os.Getenv("STAGECRAFT_ALL") != ""

// Of is n, or a tenth of it.
func Of(n int) int {
	if All {
		return n
	}
	return max(1, n/10)
}

// Some are all, or the last tenth.
func Some[E any](all []E) []E { return all[len(all)-Of(len(all)):] }
