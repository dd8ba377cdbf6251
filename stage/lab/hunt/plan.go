package hunt

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A Plan is a seed and the faults of a run. It is plain data. As text it is
//
//	hunt v1
//	seed 7
//	fault crash-after operator Website default/a create Deployment #1 for=1s
//
// Lines that begin with # are comments, and what follows a line "-- story --" is ignored.
type Plan struct {
	// Seed decides all draws, uids and generated names of the run.
	Seed uint64
	// Faults strike at their sites, in any order.
	Faults []Fault
}

// What a fault does. A write has the first ones, what a process sees has lag, relist and kill; users
// act at both. A read of usage has lag, also.
const (
	CrashBefore = "crash-before" // the process dies and the write is not done
	CrashAfter  = "crash-after"  // the write is done and the process dies before the answer
	Lose        = "lose"         // the write is done and the answer is a time-out
	Refuse      = "refuse"       // the write is not done and the answer is an error
	Touch       = "touch"        // somebody annotates the object that is written, before it is
	Lag         = "lag"          // the event, and what follows of its kind, is seen later
	Relist      = "relist"       // so, and then only how each object ended
	Kill        = "kill"         // somebody deletes the object that the event is about
	Step        = "step"         // the users take their next steps now, up to one
	Recreate    = "recreate"     // a user deletes an object that was applied, and applies it again
	Delete      = "delete"       // a user deletes an object that was applied
	Pause       = "pause"        // the process stands still before the write; of replicas, another one leads meanwhile
	Overlap     = "overlap"      // another replica takes the lease for expired and leads, and this one goes on
	Slow        = "slow"         // events of its kind are seen one by one, each later, for a while
	StopNode    = "stop-node"    // the kubelet of the Pod's Node stops for a while
	RemoveNode  = "remove-node"  // the Node of the Pod is deleted, and comes again
	FailPod     = "fail-pod"     // the Pod fails, as one that its kubelet evicts
	Skew        = "skew"         // the clock of the process differs from here on
)

// A Fault is one thing that goes wrong, or that somebody does at a bad moment. The zero value of a
// field that the fault does not have is its default.
type Fault struct {
	Do string
	At Site
	// For is how long a crashed process is down (default 1s), a view or the usage lags (default 30s), the lost answer of a
	// request for containers is waited for (default: not at all), a process
	// pauses (default 30s), a watch is slow (default 30s), a Node fails (default 10m), a leader goes on that has lost the lease (default 10s), or a clock differs
	// (default 2m).
	For time.Duration
	// By is by how much a clock is ahead (default 1m), or behind if it is negative; of a slow watch,
	// how late each event is (default 2s).
	By time.Duration
	// Policy is how Delete and Recreate delete: background, foreground or orphan. Default background,
	// as kubectl.
	Policy string
	// Behind is how many events earlier the views of a crashed process begin when it starts again.
	// They catch up after 10s. Default 0.
	Behind int
	// Code is the answer of Refuse: 409, 429, 500, 503 or 504. Default 500.
	Code int
	// Times is how many of the writes from the site on are refused. Default 1.
	Times int
	// Number is the number of a step, or of an object that was applied. Default 1.
	Number int

	steps int // in a twin: how many steps of the users come before
}

// String prints the fault as a plan has it.
func (f Fault) String() string {
	s := f.Do + " " + f.At.String()
	if f.For > 0 {
		s += " for=" + f.For.String()
	}
	if f.By != 0 {
		s += " by=" + f.By.String()
	}
	if f.Policy != "" {
		s += " policy=" + f.Policy
	}
	for _, p := range []struct {
		name  string
		value int
	}{{"behind", f.Behind}, {"code", f.Code}, {"times", f.Times}, {"number", f.Number}} {
		if p.value > 0 {
			s += fmt.Sprintf(" %s=%d", p.name, p.value)
		}
	}
	return s
}

// ofProcess reports whether the twin does without the fault.
func (f Fault) ofProcess() bool {
	return !slices.Contains([]string{Touch, Kill, Step, Recreate, Delete, StopNode, RemoveNode, FailPod}, f.Do)
}

// ofOthers reports whether the end without the fault is as good as the twin's end with it.
func (f Fault) ofOthers() bool {
	return slices.Contains([]string{Kill, StopNode, RemoveNode, FailPod}, f.Do)
}

// String prints the plan as [ParsePlan] reads it.
func (p Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "hunt v1\nseed %d\n", p.Seed)
	for _, f := range p.Faults {
		fmt.Fprintf(&b, "fault %s\n", f)
	}
	return b.String()
}

// A PlanError says where a plan is wrong.
type PlanError struct {
	Name   string // of the file
	Line   int    // from 1; 0: the plan as a whole
	Field  string // "" if it is the whole line
	Reason string
}

// Error prints "name:line: field: reason".
func (e *PlanError) Error() string {
	s := fmt.Sprintf("%s:%d: ", e.Name, e.Line)
	if e.Field != "" {
		s += e.Field + ": "
	}
	return s + e.Reason
}

// ParsePlan reads a plan. The name is used in errors, which are of type *PlanError.
func ParsePlan(name, text string) (Plan, error) {
	plan, _, err := parsePlan(name, text)
	return plan, err
}

// parsePlan returns also the lines of the faults.
func parsePlan(name, text string) (p Plan, lines []int, err error) {
	seen, seeded := false, false
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "-- story --" {
			break
		}
		if line == "" || line[0] == '#' {
			continue
		}
		bad := func(field, reason string, args ...any) error {
			return &PlanError{name, i + 1, field, fmt.Sprintf(reason, args...)}
		}
		first, rest, _ := strings.Cut(line, " ")
		switch {
		case !seen && line == "hunt v1":
			seen = true
		case !seen && first == "hunt":
			return p, nil, bad("hunt", "version %s is not known here, v1 is", rest)
		case !seen:
			return p, nil, bad("", `the first line of a plan is "hunt v1"`)
		case first == "seed" && !seeded:
			if p.Seed, err = strconv.ParseUint(rest, 10, 64); err != nil {
				return p, nil, bad("seed", "%q is no number", rest)
			}
			seeded = true
		case first == "fault":
			f, field, err := parseFault(rest)
			if err != nil {
				return p, nil, bad(field, "%v", err)
			}
			p.Faults, lines = append(p.Faults, f), append(lines, i+1)
		default:
			return p, nil, bad(first, "a line begins with seed (once), fault or #")
		}
	}
	if !seen || !seeded {
		return p, nil, &PlanError{name, 0, "", `a plan begins with the lines "hunt v1" and "seed N"`}
	}
	return p, lines, nil
}

// parseFault returns the field that is wrong, with the error.
func parseFault(text string) (f Fault, field string, err error) {
	all, err := splitFields(text)
	if err != nil {
		return f, "fault", err
	}
	if len(all) < 7 {
		return f, "fault", fmt.Errorf("it has a name, a site of six fields, and parameters: crash-after operator Store default/a create Job #1 for=1s")
	}
	f.Do, f.At = all[0], Site{Process: all[1], Controller: all[2], Verb: all[4], Kind: all[5]}
	known, ok := parameters[f.Do]
	if !ok {
		return f, "fault", fmt.Errorf("%q is no fault", f.Do)
	}
	if f.At.Key, ok = parseKey(all[3]); !ok {
		return f, "key", fmt.Errorf("%q is not namespace/name", all[3])
	}
	if f.At.Nth, err = number(strings.TrimPrefix(all[6], "#")); err != nil || all[6][0] != '#' {
		return f, "site", fmt.Errorf("%q is not # and a number from 1", all[6])
	}
	if err := f.checkSite(); err != nil {
		return f, "site", err
	}
	if f.Do == Lose && !f.At.isOfContainers() {
		known = nil
	}
	for _, parameter := range all[7:] {
		name, value, _ := strings.Cut(parameter, "=")
		if !slices.Contains(known, name) {
			return f, name, fmt.Errorf("%s has no such parameter", f.Do)
		}
		if err := f.set(name, value); err != nil {
			return f, name, err
		}
	}
	return f, "", nil
}

// parameters are the ones that a fault can have.
var parameters = map[string][]string{
	CrashBefore: {"for", "behind"}, CrashAfter: {"for", "behind"}, Lose: {"for"}, Refuse: {"code", "times"}, Touch: {},
	Pause: {"for"}, Overlap: {"for"}, Skew: {"for", "by"},
	Lag: {"for"}, Relist: {"for"}, Kill: {}, Step: {"number"}, Recreate: {"number", "policy"}, Delete: {"number", "policy"},
	Slow: {"for", "by"}, StopNode: {"for"}, RemoveNode: {"for"}, FailPod: {},
}

// policies are those of deletions.
var policies = map[string]metav1.DeletionPropagation{
	"": metav1.DeletePropagationBackground, "background": metav1.DeletePropagationBackground,
	"foreground": metav1.DeletePropagationForeground, "orphan": metav1.DeletePropagationOrphan,
}

// checkSite reports a fault at a place where it cannot be.
func (f Fault) checkSite() error {
	verbs := []string{"create", "update", "patch", "apply", "delete", "evict", execVerb, logsVerb, usageVerb}
	if !f.At.IsWrite() {
		verbs = []string{"ADDED", "MODIFIED", "DELETED"}
	}
	if !slices.Contains(verbs, f.At.Verb) {
		return fmt.Errorf("%q is none of %s", f.At.Verb, strings.Join(verbs, ", "))
	}
	seen := slices.Contains([]string{Lag, Relist, Slow, Kill, StopNode, RemoveNode, FailPod}, f.Do)
	either := slices.Contains([]string{Step, Recreate, Delete, Skew}, f.Do)
	switch {
	case f.Do == Lag && f.At.Verb == usageVerb:
		return nil
	case seen && f.At.IsWrite():
		return fmt.Errorf("%s strikes at what a process sees, not at a write", f.Do)
	case !seen && !either && !f.At.IsWrite():
		return fmt.Errorf("%s strikes at a write, not at what a process sees", f.Do)
	}
	return nil
}

func (f *Fault) set(name, value string) (err error) {
	switch name {
	case "for":
		if f.For, err = time.ParseDuration(value); err != nil || f.For <= 0 || f.For > maxHold {
			return fmt.Errorf("%q is no duration above 0 and up to %s", value, maxHold)
		}
		return nil
	case "by":
		if f.By, err = time.ParseDuration(value); err != nil || f.By == 0 || f.By.Abs() > maxHold {
			return fmt.Errorf("%q is no duration up to %s that is not 0", value, maxHold)
		}
		return nil
	case "policy":
		if f.Policy = value; policies[value] == "" {
			return fmt.Errorf("%q is none of background, foreground, orphan", value)
		}
		return nil
	case "behind":
		f.Behind, err = number(value)
	case "code":
		if f.Code, err = number(value); err == nil && refusals[f.Code] == nil {
			err = fmt.Errorf("%q is none of 409, 429, 500, 503, 504", value)
		}
	case "times":
		f.Times, err = number(value)
	case "number":
		f.Number, err = number(value)
	}
	return err
}

// maxHold is how long a process may be down, or a view lag.
const maxHold = time.Hour

// number parses a number from 1 to a million.
func number(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 1_000_000 || strconv.Itoa(n) != text {
		return 0, fmt.Errorf("%q is no number from 1 to a million", text)
	}
	return n, nil
}
