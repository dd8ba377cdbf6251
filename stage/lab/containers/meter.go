package containers

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/containers/internal/amount"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// A Meter reads what the containers of a Node use, and adds up their CPU time, as a kubelet does. The
// time between two reads counts with the use at the second one, and the time before the first read
// with the use at the first one. It is safe for concurrent use if the functions of [Options] are.
type Meter struct {
	cluster *memory.Cluster

	mu    sync.Mutex
	nodes map[types.UID]*counts
	most  int // how many Nodes it remembers before it forgets the deleted ones
}

// NewMeter returns a meter for the Nodes of a cluster.
func NewMeter(c *memory.Cluster) *Meter {
	return &Meter{cluster: c.Shared(), nodes: map[types.UID]*counts{}, most: 100}
}

// NodeUsage is what a Node uses: the sum of its Pods. Time is the time of the read.
type NodeUsage struct {
	Node *unstructured.Unstructured
	Usage
	// Started is how many containers the Node has started, as far as reads have seen them.
	Started int
	// Pods are bound to the Node, sorted by namespace and name.
	Pods []PodUsage
}

// PodUsage is what a Pod uses: the sum of its containers. Time is the earliest time of a container.
type PodUsage struct {
	Pod *unstructured.Unstructured
	Usage
	// Containers are the running ones. The list is empty for a Pod whose usage is not simulated, or
	// has an error.
	Containers []ContainerUsage
	// Err is the error of the usage of the Pod. The sums of the Node are without this Pod.
	Err error
}

// ContainerUsage is what a container that runs uses.
type ContainerUsage struct {
	Container
	Usage
}

// counts are what a meter remembers of a Node.
type counts struct {
	seconds float64 // of the Node, also of containers that are gone
	runs    map[run]count
	started int // containers, also the ones that are gone
	starts  map[run]int
}

// A run is one run of a container, or with the number 0 all its runs.
type run struct {
	pod       types.UID
	container string
	number    int
}

// A count is how many core-seconds a run had used at a time.
type count struct {
	at      time.Time
	seconds float64
}

var nodeKind = schema.GroupVersionKind{Version: "v1", Kind: "Node"}

// Node reads what a Node uses now. The objects in the answer are shared and must not be changed.
func (m *Meter) Node(ctx context.Context, name string) (*NodeUsage, error) {
	node, err := m.cluster.Get(ctx, nodeKind, types.NamespacedName{Name: name})
	if err != nil {
		return nil, err
	}
	list, err := m.cluster.List(ctx, podKind, "", metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("spec.nodeName", name).String()})
	if err != nil {
		return nil, err
	}
	read := &NodeUsage{Node: node, Usage: Usage{Time: m.cluster.Now()}}
	runtime := Of(m.cluster)
	for i := range list.Items {
		read.Pods = append(read.Pods, runtime.measure(ctx, &list.Items[i]))
	}
	m.count(ctx, read)
	return read, nil
}

// measure returns what a Pod uses, without CPU times.
func (r *Runtime) measure(ctx context.Context, pod *unstructured.Unstructured) PodUsage {
	read := PodUsage{Pod: pod}
	used, err := r.Usage(ctx, pod)
	if err != nil && !errors.Is(err, ErrNotSimulated) {
		read.Err = err
	}
	for _, l := range lists[:2] {
		for _, name := range names(pod, l.spec) {
			if u, runs := used[name]; runs {
				read.Containers = append(read.Containers, ContainerUsage{*stateOf(pod, name).running, u})
			}
		}
	}
	return read
}

// count adds CPU times and sums to what was read.
func (m *Meter) count(ctx context.Context, read *NodeUsage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.of(ctx, read.Node)
	now, starts, failed := map[run]count{}, map[run]int{}, map[types.UID]bool{}
	for i := range read.Pods {
		pod := &read.Pods[i]
		failed[pod.Pod.GetUID()] = pod.Err != nil
		for key, n := range startsOf(pod.Pod) {
			starts[key] = n
			before.started += max(0, n-before.starts[key])
		}
		for j := range pod.Containers {
			c := &pod.Containers[j]
			key := run{pod.Pod.GetUID(), c.Name, c.Run}
			last, known := before.runs[key]
			if !known {
				last.at = c.Started
			}
			now[key] = c.advance(last)
			before.seconds += now[key].seconds - last.seconds
			pod.add(c.Usage)
		}
		read.CPU.Add(pod.CPU)
		read.Memory.Add(pod.Memory)
	}
	for key, last := range before.runs { // a Pod with an error goes on from its last count
		if failed[key.pod] {
			now[key] = last
		}
	}
	before.runs, before.starts = now, starts
	read.CPUSeconds, read.Started = before.seconds, before.started
}

// startsOf returns how often each container of a Pod was started.
func startsOf(pod *unstructured.Unstructured) map[run]int {
	starts := map[run]int{}
	for _, l := range lists {
		for _, name := range names(pod, l.spec) {
			s := stateOf(pod, name)
			if last := cmp.Or(s.running, s.ended, s.last); last != nil {
				starts[run{pod.GetUID(), name, 0}] = last.Run + 1
			}
		}
	}
	return starts
}

// advance sets the CPU time of a container, which had a count before. A measurement that is not newer
// adds nothing, and no time goes back.
func (c *ContainerUsage) advance(last count) count {
	if c.CPUSeconds == 0 { // the function does not say it
		past := max(0, c.Time.Sub(last.at))
		c.CPUSeconds = last.seconds + amount.Float(c.CPU)*past.Seconds()
	}
	c.CPUSeconds = max(c.CPUSeconds, last.seconds)
	if last.at.After(c.Time) {
		return count{last.at, c.CPUSeconds}
	}
	return count{c.Time, c.CPUSeconds}
}

// add adds what a part uses.
func (u *Usage) add(part Usage) {
	u.CPU.Add(part.CPU)
	u.Memory.Add(part.Memory)
	u.CPUSeconds += part.CPUSeconds
	if u.Time.IsZero() || part.Time.Before(u.Time) {
		u.Time = part.Time
	}
}

// of returns what is remembered of a Node. Before it remembers too many, it forgets the deleted ones.
func (m *Meter) of(ctx context.Context, node *unstructured.Unstructured) *counts {
	if known := m.nodes[node.GetUID()]; known != nil {
		return known
	}
	if len(m.nodes) >= m.most {
		m.forget(ctx)
	}
	m.nodes[node.GetUID()] = &counts{}
	return m.nodes[node.GetUID()]
}

func (m *Meter) forget(ctx context.Context) {
	list, err := m.cluster.List(ctx, nodeKind, "", metav1.ListOptions{})
	if err != nil {
		return // the client has left
	}
	there := map[types.UID]bool{}
	for i := range list.Items {
		there[list.Items[i].GetUID()] = true
	}
	maps.DeleteFunc(m.nodes, func(uid types.UID, _ *counts) bool { return !there[uid] })
	m.most = 2*len(m.nodes) + 100
}
