package openb

import (
	"fmt"
	"math/rand"
)

const (
	// tuning is how much the Pods of a run ask for in all, as a share of all devices.
	tuning = 1.3
	// watches is a number of random numbers that the published simulator draws unintentionally,
	// between the order of the Pods and the order of the nodes. It starts the informers of
	// kube-scheduler there, and each informer draws the length of its watch from the same
	// generator.
	watches = 10
)

// An order is the part of a run that the seed decides: the Pods in the order of their arrival, and
// the nodes in the order of preference among equally good ones. The policy uses the random numbers
// that follow.
type order struct {
	pods   []Pod
	nodes  []Node
	random *rand.Rand
}

// order draws random numbers as the published runs do: the same generator, seed and sequence.
func (t *Trace) order(seed int64) order {
	o := order{random: rand.New(rand.NewSource(seed))} //nolint:gosec // the published simulator uses this generator
	o.random.Int()
	o.pods = append(o.pods, t.Pods...)
	o.random.Shuffle(len(o.pods), func(i, j int) { o.pods[i], o.pods[j] = o.pods[j], o.pods[i] })
	o.tune(t)
	for range watches {
		o.random.Float64()
	}
	o.nodes = make([]Node, len(t.Nodes))
	for i, place := range o.random.Perm(len(t.Nodes)) {
		o.nodes[place] = t.Nodes[i]
		o.nodes[place].Name = fmt.Sprintf("%04d-%s", place, t.Nodes[i].Name)
	}
	return o
}

// tune appends copies of random Pods until they ask for enough. The share of the next Pod counts
// once, even if it asks for several devices: so it was published.
func (o *order) tune(t *Trace) {
	arrived, want := 0, tuning*float64(t.devices())
	for _, p := range o.pods {
		arrived += p.Share * p.DeviceNumber
	}
	for {
		p := t.Pods[o.random.Intn(len(t.Pods))]
		if float64(arrived+p.Share) > want {
			return
		}
		arrived += p.Share * p.DeviceNumber
		o.pods = append(o.pods, p)
	}
}
