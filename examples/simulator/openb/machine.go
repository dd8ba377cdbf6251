package openb

import "slices"

// A machine is a node and its remaining capacity.
type machine struct {
	Node
	cpu, memory int
	devices     []int // the remaining capacity of each device
	idle        int   // the sum of them
	affinities  []int // how many Pods ask for shares, for one device, two, …; Pods without a device are not counted
	fragment    float64
	scores      []int // by class of Pods; see unknown
}

// unfit is the score of a machine on which a Pod does not fit. unknown is a score that is not
// computed yet.
const (
	unfit   = -1
	unknown = -2
)

func newMachine(n Node, classes int) *machine {
	m := &machine{
		Node: n, cpu: n.CPU, memory: n.Memory, idle: device * n.DeviceNumber,
		devices: make([]int, n.DeviceNumber), affinities: make([]int, 9), scores: make([]int, classes),
	}
	for i := range m.devices {
		m.devices[i] = device
	}
	m.forget()
	return m
}

// forget makes all scores unknown.
func (m *machine) forget() {
	for i := range m.scores {
		m.scores[i] = unknown
	}
}

// fits reports whether a Pod can be placed.
func (m *machine) fits(r Request) bool {
	return r.CPU <= m.cpu && r.Memory <= m.memory && (r.DeviceNumber == 0 || r.takes(m.Model) && m.room(r))
}

// room reports whether there are enough devices with enough left.
func (m *machine) room(r Request) bool {
	n := r.DeviceNumber
	for _, left := range m.devices {
		if left >= r.Share {
			n--
		}
	}
	return n <= 0
}

// whole is how many devices are all free.
func (m *machine) whole() (n int) {
	for _, left := range m.devices {
		if left == device {
			n++
		}
	}
	return n
}

// leastLeft returns the devices that a Pod gets: the devices with the least remaining capacity that
// is enough, the first among equal ones.
func (m *machine) leastLeft(r Request) (chosen []int) {
	for range r.DeviceNumber {
		best := -1
		for i, left := range m.devices {
			if left >= r.Share && !slices.Contains(chosen, i) && (best < 0 || left < m.devices[best]) {
				best = i
			}
		}
		if best < 0 {
			return nil
		}
		chosen = append(chosen, best)
	}
	return chosen
}

// place places a Pod on devices.
func (m *machine) place(r Request, devices []int) {
	m.cpu -= r.CPU
	m.memory -= r.Memory
	for _, i := range devices {
		m.devices[i] -= r.Share
		m.idle -= r.Share
	}
	if r.DeviceNumber > 0 {
		m.affinities[affinity(r)]++
	}
	m.forget()
}

// affinity is 0 for a share, else the number of devices.
func affinity(r Request) int {
	if r.shared() {
		return 0
	}
	return r.DeviceNumber
}
