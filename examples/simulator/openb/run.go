package openb

import (
	"context"
	"math"
	"math/rand"
)

// A Result has the measurements of a run. The values at r are means over the Pods at whose arrival
// the arrived share was r per cent, rounded; NaN without such Pods.
type Result struct {
	Allocation    []float64 // in per cent of all devices
	Fragmentation []float64 // in per cent of all devices
	Placed        int       // Pods
	Failed        int       // Pods that fitted nowhere; they are not tried again
}

// A cluster is the machines during a run.
type cluster struct {
	machines []*machine
	typical  []typical
	usable   map[string][]bool // by model: which typical Pods take it
	classes  map[Request]int
	policy   policy
	random   *rand.Rand
	fragment float64 // the sum over the machines
}

// Run places all Pods of the trace, in an order that the seed decides. The published runs have the
// seeds 42 to 51. It returns an error for an unknown policy, and the error of ctx.
func (t *Trace) Run(ctx context.Context, policy string, seed int64) (*Result, error) {
	p, err := policyOf(policy)
	if err != nil {
		return nil, err
	}
	o := t.order(seed)
	c := t.newCluster(o, p)
	m := newMeter(t.devices())
	r := &Result{}
	for i, pod := range o.pods {
		if i%256 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if c.schedule(pod.Request) {
			r.Placed++
			m.used += pod.Share * pod.DeviceNumber
		} else {
			r.Failed++
		}
		m.arrived += pod.Share * pod.DeviceNumber
		m.add(c.fragment)
	}
	r.Allocation, r.Fragmentation = m.means()
	return r, nil
}

func (t *Trace) newCluster(o order, p policy) *cluster {
	c := &cluster{typical: t.typicalPods(), usable: map[string][]bool{}, classes: map[Request]int{}, policy: p, random: o.random}
	for _, pod := range t.Pods {
		if _, known := c.classes[pod.Request]; !known {
			c.classes[pod.Request] = len(c.classes)
		}
	}
	for _, n := range o.nodes {
		if c.usable[n.Model] == nil {
			for _, p := range c.typical {
				c.usable[n.Model] = append(c.usable[n.Model], p.takes(n.Model))
			}
		}
		m := newMachine(n, len(c.classes))
		c.machines = append(c.machines, m)
		c.measure(m)
	}
	return c
}

// measure computes the fragments of a machine again.
func (c *cluster) measure(m *machine) {
	c.fragment -= m.fragment
	m.fragment = fragmentOf(c.typical, c.usable[m.Model], m.cpu, m.devices)
	c.fragment += m.fragment
}

// schedule places a Pod. It reports whether it found a place.
func (c *cluster) schedule(r Request) bool {
	m := c.choose(r)
	if m == nil {
		return false
	}
	devices := m.leastLeft(r) // whole devices: the first free ones
	if r.shared() {
		devices = c.policy.devices(c, m, r)
	}
	m.place(r, devices)
	c.measure(m)
	return true
}

// choose returns the machine with the highest score, or nil if the Pod fits on no machine.
func (c *cluster) choose(r Request) (best *machine) {
	class, highest := c.classes[r], unfit
	var fit []*machine
	for _, m := range c.machines {
		score := m.scores[class]
		if score == unknown {
			score = c.score(m, r)
			m.scores[class] = score
		}
		if score == unfit {
			continue
		}
		if c.policy.score == nil {
			fit = append(fit, m)
		} else if score > highest {
			best, highest = m, score
		}
	}
	if len(fit) > 0 {
		best = fit[c.random.Intn(len(fit))]
	}
	return best
}

func (c *cluster) score(m *machine, r Request) int {
	switch {
	case !m.fits(r):
		return unfit
	case c.policy.score == nil:
		return 0
	}
	return c.policy.score(c, m, r)
}

// A meter adds up the measurements at each arrived share.
type meter struct {
	devices, arrived, used int
	allocation, fragments  []float64
	number                 []float64
}

func newMeter(devices int) *meter {
	n := int(100*tuning) + 1
	return &meter{devices: devices, allocation: make([]float64, n), fragments: make([]float64, n), number: make([]float64, n)}
}

func (m *meter) add(fragment float64) {
	all := float64(m.devices)
	at := int(math.Round(float64(m.arrived) / all * 100))
	if at >= len(m.number) {
		return
	}
	m.number[at]++
	m.allocation[at] += math.Round(float64(m.used)/all*1e4) / 100
	m.fragments[at] += 100 * fragment / all
}

func (m *meter) means() (allocation, fragments []float64) {
	for i, n := range m.number {
		m.allocation[i] /= n
		m.fragments[i] /= n
	}
	return m.allocation, m.fragments
}
