package kstatus

import (
	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/kstatus/internal/words"
)

// pairDepth is how many maps deep pairs of counts are looked for: status.racks.<name>.readyMembers
// is in the third.
const pairDepth = 3

// pairedCounts compares counts such as readyMembers with the count of all, members. Of several that
// are equally bad, the first by name is reported.
func (o *Object) pairedCounts(m map[string]any, path string, depth int) (worst Result, found bool) {
	for field, v := range m {
		var r Result
		ok := false
		if inner, isMap := object.ToMap(v); isMap && depth > 1 && !words.IsPast(field) {
			r, ok = o.pairedCounts(inner, field, depth-1)
			r = r.atItem(path, field)
		} else if !isMap && words.IsReadyCount(field) {
			r, ok = pairedCount(m, field)
			r = r.atItem(path, field)
		}
		if ok && (!found || r.isWorse(worst) || !worst.isWorse(r) && r.item < worst.item) {
			worst, found = r, true
		}
	}
	return worst, found
}

// pairedCount compares one count with that of all.
func pairedCount(m map[string]any, field string) (Result, bool) {
	n, isCount := integer(m[field])
	var buffer [words.LongestField]byte
	all, counted := integer(m[string(words.CountOfAll(field, &buffer))])
	switch {
	case !isCount || !counted || field == "readyReplicas" || field == "availableReplicas":
		return Result{}, false // counted has these, and the wanted number
	case n < all:
		return countResult("Less", field, n, all), true
	}
	return Current.because("", withNumbers("Ready: %d/%d", n, all)), all > 0
}
