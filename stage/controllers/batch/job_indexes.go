package batch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/conditions"
	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/lists"
	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/pods"
)

// indexes are completion indexes of an indexed Job, sorted and without duplicates.
type indexes []int64

// String prints them as the status has them, for example 0,2-4,7.
func (s indexes) String() string {
	var parts []string
	for i := 0; i < len(s); {
		j := i
		for j+1 < len(s) && s[j+1] == s[j]+1 {
			j++
		}
		part := strconv.FormatInt(s[i], 10)
		switch last := strconv.FormatInt(s[j], 10); {
		case j == i+1:
			part += "," + last
		case j > i:
			part += "-" + last
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ",")
}

// parseIndexes reads what String prints. Indexes from a limit on, and what cannot be read, are left
// out.
func parseIndexes(text string, limit int64) (s indexes) {
	for _, part := range strings.Split(text, ",") {
		from, to, ranged := strings.Cut(part, "-")
		first, err := strconv.ParseInt(from, 10, 64)
		last := first
		if ranged && err == nil {
			last, err = strconv.ParseInt(to, 10, 64)
		}
		for i := first; err == nil && i <= last && i < limit; i++ {
			s = append(s, i)
		}
	}
	return s.sorted()
}

func (s indexes) sorted() indexes {
	slices.Sort(s)
	return slices.Compact(s)
}

func (s indexes) has(i int64) bool {
	_, found := slices.BinarySearch(s, i)
	return found
}

// indexOf returns the completion index of a Pod, -1 if it has none.
func indexOf(p pods.Pod) int64 {
	n, err := strconv.ParseInt(fields.Annotation(p.Unstructured, indexKey), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// countIndexes adds the indexes of the Pods that succeeded or failed to those in the status.
func (r *jobRun) countIndexes() {
	r.failures = map[int64]int{}
	for _, p := range r.pods {
		i := indexOf(p)
		switch {
		case i < 0 || i >= r.spec.completions:
		case p.Phase() == "Succeeded":
			r.succeededIndexes = append(r.succeededIndexes, i)
		case r.hasFailed(p) && !r.isIgnored(p):
			r.failures[i]++
			action, _ := r.matchFailurePolicy(p)
			if r.spec.indexBackoff >= 0 && (action == "FailIndex" || int64(r.failures[i]) > r.spec.indexBackoff) {
				r.failedIndexes = append(r.failedIndexes, i)
			}
		}
	}
	r.succeededIndexes, r.failedIndexes = r.succeededIndexes.sorted(), r.failedIndexes.sorted()
}

// pendingIndexes returns the first n indexes that have neither succeeded nor failed for good, and
// have no active Pod.
func (r *jobRun) pendingIndexes(n int) (pending []int64) {
	busy := map[int64]bool{}
	for _, p := range r.pods {
		if p.IsActive() || r.spec.replaceFailedOnly && p.IsTerminating() && !p.IsTerminal() {
			busy[indexOf(p)] = true
		}
	}
	for i := int64(0); i < r.spec.completions && len(pending) < n; i++ {
		if busy[i] || r.succeededIndexes.has(i) || r.failedIndexes.has(i) {
			continue
		}
		if wait := r.indexBackoff(i); wait > 0 {
			r.requeueAfter = control.Sooner(r.requeueAfter, wait)
			continue
		}
		pending = append(pending, i)
	}
	return pending
}

// byIndexes returns how a Job ends that counts failures by index, nil if it goes on.
func (r *jobRun) byIndexes() conditions.Condition {
	lost := int64(len(r.failedIndexes))
	switch {
	case !r.spec.indexed || r.spec.indexBackoff < 0 || lost == 0:
	case lost > r.spec.maxFailedIndexes:
		return r.failure("MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes")
	case lost+int64(len(r.succeededIndexes)) >= r.spec.completions:
		return r.failure("FailedIndexes", "Job has failed indexes")
	}
	return nil
}

// bySuccessPolicy returns how a Job ends of which enough indexes have succeeded, nil if it goes on.
func (r *jobRun) bySuccessPolicy() conditions.Condition {
	if !r.spec.indexed || len(r.succeededIndexes) == 0 {
		return nil
	}
	for i, rule := range r.spec.successPolicy {
		of, all := r.succeededIndexes, int64(0)
		if wanted := fields.String(rule, "succeededIndexes"); wanted != "" {
			set := parseIndexes(wanted, r.spec.completions)
			of, all = lists.Filter(set, r.succeededIndexes.has), int64(len(set))
		}
		enough := fields.Int64(rule, all, "succeededCount")
		if enough > 0 && int64(len(of)) >= enough {
			return r.condition("SuccessCriteriaMet", "SuccessPolicy", fmt.Sprintf("Matched rules at index %d", i))
		}
	}
	return nil
}
