package controllers

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// indexes are the completion indexes of an indexed Job, in order and each once.
type indexes []int64

// String prints 0,2-4,7: three and more in a row are shortened.
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

// parseIndexes reads what String prints, below a limit. What it cannot read it leaves out.
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

// indexOf is the completion index of a Pod, -1 if it has none.
func indexOf(p pod) int64 {
	n, err := strconv.ParseInt(annotation(p.Unstructured, indexKey), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// countIndexes adds the indexes that the Pods tell of to those in the status.
func (r *jobRun) countIndexes() {
	r.failures = map[int64]int{}
	for _, p := range r.pods {
		i := indexOf(p)
		switch {
		case i < 0 || i >= r.spec.completions:
		case p.phase() == "Succeeded":
			r.done = append(r.done, i)
		case r.hasFailed(p) && !r.ignored(p):
			r.failures[i]++
			if action, _ := r.matchFailurePolicy(p); r.spec.indexBackoff >= 0 && (action == "FailIndex" || int64(r.failures[i]) > r.spec.indexBackoff) {
				r.lost = append(r.lost, i)
			}
		}
	}
	r.done, r.lost = r.done.sorted(), r.lost.sorted()
}

// pendingIndexes are the first n that have neither succeeded nor failed for good, and are not at work.
func (r *jobRun) pendingIndexes(n int) (pending []int64) {
	busy := map[int64]bool{}
	for _, p := range r.pods {
		if p.active() || r.spec.replaceFailedOnly && p.terminating() && !p.ended() {
			busy[indexOf(p)] = true
		}
	}
	for i := int64(0); i < r.spec.completions && len(pending) < n; i++ {
		if busy[i] || r.done.has(i) || r.lost.has(i) {
			continue
		}
		if wait := r.indexBackoff(i); wait > 0 {
			r.again = sooner(r.again, wait)
			continue
		}
		pending = append(pending, i)
	}
	return pending
}

// byIndexes ends a Job that counts failures by index.
func (r *jobRun) byIndexes() condition {
	lost := int64(len(r.lost))
	switch {
	case !r.spec.indexed || r.spec.indexBackoff < 0 || lost == 0:
	case lost > r.spec.maxFailedIndexes:
		return r.failure("MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes")
	case lost+int64(len(r.done)) >= r.spec.completions:
		return r.failure("FailedIndexes", "Job has failed indexes")
	}
	return nil
}

// bySuccessPolicy ends a Job of which enough indexes have succeeded.
func (r *jobRun) bySuccessPolicy() condition {
	if !r.spec.indexed || len(r.done) == 0 {
		return nil
	}
	for i, rule := range r.spec.successPolicy {
		of, all := r.done, int64(0)
		if wanted := text(rule, "succeededIndexes"); wanted != "" {
			set := parseIndexes(wanted, r.spec.completions)
			of, all = keep(set, r.done.has), int64(len(set))
		}
		enough := number(rule, all, "succeededCount")
		if enough > 0 && int64(len(of)) >= enough {
			return r.condition("SuccessCriteriaMet", "SuccessPolicy", fmt.Sprintf("Matched rules at index %d", i))
		}
	}
	return nil
}
