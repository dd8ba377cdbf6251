package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/watch"
)

// A table prints rows as kubectl does while it watches: a column is as wide as its widest cell so
// far.
type table struct {
	out    io.Writer
	now    func() time.Time
	widths []int
}

// print is the reaction to a change of a Pod: it prints a row, and before the first row the header.
func (t *table) print(_ context.Context, event watch.EventType, obj *unstructured.Unstructured) error {
	p, err := decode[pod](obj)
	if err != nil {
		return err
	}
	row := append([]string{fmt.Sprintf("%-8s", event)}, p.cells(t.now())...)
	if t.widths == nil {
		header := []string{"EVENT", "NAME", "READY", "STATUS", "RESTARTS", "AGE"}
		t.widths = make([]int, len(header))
		t.widen(row) // kubectl lays out the first row together with the header
		if err := t.row(header); err != nil {
			return err
		}
	}
	return t.row(row)
}

func (t *table) widen(cells []string) {
	for i, cell := range cells {
		t.widths[i] = max(t.widths[i], utf8.RuneCountInString(cell))
	}
}

func (t *table) row(cells []string) error {
	t.widen(cells)
	var b strings.Builder
	last := len(cells) - 1
	for i, cell := range cells[:last] {
		fmt.Fprintf(&b, "%-*s", t.widths[i]+3, cell)
	}
	_, err := fmt.Fprintln(t.out, b.String()+cells[last])
	return err
}

// A pod has the fields from which the columns are computed.
type pod struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		InitContainers []container `json:"initContainers"`
		Containers     []container `json:"containers"`
	} `json:"spec"`
	Status struct {
		Phase                 string            `json:"phase"`
		Reason                string            `json:"reason"`
		Conditions            []condition       `json:"conditions"`
		InitContainerStatuses []containerStatus `json:"initContainerStatuses"`
		ContainerStatuses     []containerStatus `json:"containerStatuses"`
	} `json:"status"`
}

type container struct {
	Name          string `json:"name"`
	RestartPolicy string `json:"restartPolicy"`
}

type condition struct {
	Type   string `json:"type"`
	Status string `json:"status"`
	Reason string `json:"reason"`
}

type containerStatus struct {
	Name         string         `json:"name"`
	Ready        bool           `json:"ready"`
	Started      bool           `json:"started"`
	RestartCount int            `json:"restartCount"`
	State        containerState `json:"state"`
	LastState    containerState `json:"lastState"`
}

type containerState struct {
	Waiting *struct {
		Reason string `json:"reason"`
	} `json:"waiting"`
	Running    *struct{}   `json:"running"`
	Terminated *terminated `json:"terminated"`
}

type terminated struct {
	ExitCode   int         `json:"exitCode"`
	Signal     int         `json:"signal"`
	Reason     string      `json:"reason"`
	FinishedAt metav1.Time `json:"finishedAt"`
}

// cells are NAME, READY, STATUS, RESTARTS and AGE, as the API server computes them for kubectl.
func (p *pod) cells(now time.Time) []string {
	s := summarize(p)
	return []string{p.Name, fmt.Sprintf("%d/%d", s.ready, s.total), s.reason, s.restarts.text(now), since(p.CreationTimestamp, now)}
}

// A summary of a Pod is the content of READY, STATUS and RESTARTS.
type summary struct {
	ready, total       int
	reason             string
	restarts, sidecars restarts // of all containers, of sidecars
}

func summarize(p *pod) summary {
	s := summary{reason: cmp.Or(p.Status.Reason, p.Status.Phase), total: len(p.Spec.Containers)}
	for _, c := range p.Spec.InitContainers {
		if c.isSidecar() {
			s.total++
		}
	}
	if slices.ContainsFunc(p.Status.Conditions, func(c condition) bool { return c.Type == "PodScheduled" && c.Reason == "SchedulingGated" }) {
		s.reason = "SchedulingGated"
	}
	if initialized := s.initContainers(p); initialized || isTrue(p.Status.Conditions, "Initialized") {
		s.containers(p)
	}
	s.deletion(p)
	return s
}

// initContainers reports whether no init container keeps the other containers from starting. It
// reads init containers up to the first that does.
func (s *summary) initContainers(p *pod) bool {
	for i, c := range p.Status.InitContainerStatuses {
		s.restarts.add(c)
		sidecar := p.isSidecar(c.Name)
		if sidecar {
			s.sidecars.add(c)
		}
		switch {
		case c.State.Terminated != nil && c.State.Terminated.ExitCode == 0:
		case sidecar && c.Started:
			s.count(c.Ready)
		default:
			s.reason = "Init:" + cmp.Or(c.State.initReason(), fmt.Sprintf("%d/%d", i, len(p.Spec.InitContainers)))
			return false
		}
	}
	return true
}

// containers looks at the other containers, from the last to the first. From then on, of the init
// containers only sidecars count as restarted.
func (s *summary) containers(p *pod) {
	s.restarts = s.sidecars
	running := false
	for _, c := range slices.Backward(p.Status.ContainerStatuses) {
		s.restarts.add(c)
		switch {
		case c.State.Waiting != nil && c.State.Waiting.Reason != "":
			s.reason = c.State.Waiting.Reason
		case c.State.Terminated != nil:
			s.reason = c.State.Terminated.why()
		case c.State.Running != nil && c.Ready:
			running = true
			s.count(true)
		}
	}
	if s.reason == "Completed" && running {
		s.reason = "NotReady"
		if isTrue(p.Status.Conditions, "Ready") {
			s.reason = "Running"
		}
	}
}

// deletion overrides the reason for a Pod that is being deleted and has not ended.
func (s *summary) deletion(p *pod) {
	ended := p.Status.Phase == "Succeeded" || p.Status.Phase == "Failed"
	switch {
	case p.DeletionTimestamp == nil:
	case p.Status.Reason == "NodeLost":
		s.reason = "Unknown"
	case !ended:
		s.reason = "Terminating"
	}
}

func (s *summary) count(ready bool) {
	if ready {
		s.ready++
	}
}

func (c container) isSidecar() bool { return c.RestartPolicy == "Always" }

func (p *pod) isSidecar(name string) bool {
	return slices.ContainsFunc(p.Spec.InitContainers, func(c container) bool { return c.Name == name && c.isSidecar() })
}

func isTrue(conditions []condition, name string) bool {
	return slices.ContainsFunc(conditions, func(c condition) bool { return c.Type == name && c.Status == "True" })
}

// initReason is why an init container has not completed; "" if it has not started or is running.
func (s containerState) initReason() string {
	switch {
	case s.Terminated != nil:
		return s.Terminated.why()
	case s.Waiting != nil && s.Waiting.Reason != "PodInitializing":
		return s.Waiting.Reason
	}
	return ""
}

func (t *terminated) why() string {
	switch {
	case t.Reason != "":
		return t.Reason
	case t.Signal != 0:
		return fmt.Sprintf("Signal:%d", t.Signal)
	}
	return fmt.Sprintf("ExitCode:%d", t.ExitCode)
}

// A restarts is the number of restarts of containers, and the end of the last run before a restart.
type restarts struct {
	count int
	last  metav1.Time
}

func (r *restarts) add(c containerStatus) {
	r.count += c.RestartCount
	if t := c.LastState.Terminated; t != nil && r.last.Before(&t.FinishedAt) {
		r.last = t.FinishedAt
	}
}

func (r restarts) text(now time.Time) string {
	if r.count == 0 || r.last.IsZero() {
		return strconv.Itoa(r.count)
	}
	return fmt.Sprintf("%d (%s ago)", r.count, since(r.last, now))
}

// since is an age in the format of kubectl.
func since(t metav1.Time, now time.Time) string {
	if t.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(now.Sub(t.Time))
}
