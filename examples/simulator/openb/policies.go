package openb

import (
	"fmt"
	"math"
)

// A policy scores the machines on which a Pod fits, from 0 to 100. The highest score wins, the
// first among equal ones. The policy also decides which devices of the machine a Pod with a share
// gets. Other Pods get the first free devices.
type policy struct {
	name    string
	score   func(*cluster, *machine, Request) int // nil: a machine is drawn
	devices func(*cluster, *machine, Request) []int
}

// policies are the policies of the paper, with the names of its results.
var policies = []policy{
	{"01-Random", nil, drawn},
	{"02-DotProd", dotProduct, leastLeft},
	{"03-GpuClustering", clustering, leastLeft},
	{"04-GpuPacking", packing, leastLeft},
	{"05-BestFit", bestFit, leastLeft},
	{"06-FGD", leastFragments, leastFragmented},
}

// Policies returns the names of the policies.
func Policies() (names []string) {
	for _, p := range policies {
		names = append(names, p.name)
	}
	return names
}

func policyOf(name string) (policy, error) {
	for _, p := range policies {
		if p.name == name {
			return p, nil
		}
	}
	return policy{}, fmt.Errorf("there is no policy %q", name)
}

// The largest nodes, by which scores are normalized.
const (
	mostCPU     = 128_000
	mostDevices = 8 * device
)

func dotProduct(_ *cluster, m *machine, r Request) int {
	product := float64(m.cpu)/mostCPU*float64(r.CPU)/mostCPU + float64(m.idle)/mostDevices*float64(r.Share*r.DeviceNumber)/mostDevices
	return int(100 * (1 - product/2))
}

func bestFit(_ *cluster, m *machine, r Request) int {
	left := float64(m.cpu-r.CPU)/mostCPU*0.5 + float64(m.idle-r.Share*r.DeviceNumber)/mostDevices*0.5
	return int((1 - left) * 100)
}

// clustering prefers machines whose Pods ask for as many devices.
func clustering(_ *cluster, m *machine, r Request) int {
	if r.DeviceNumber == 0 {
		return 0
	}
	kinds := 0
	for _, n := range m.affinities {
		if n > 0 {
			kinds++
		}
	}
	score := 25 * (mostDevices - m.idle) / mostDevices
	switch same := m.affinities[affinity(r)] > 0; {
	case same && kinds == 1:
		return score + 75
	case same:
		return score + 50
	case kinds == 0:
		return score + 25
	}
	return score
}

// packing prefers devices that are in use, then machines that are.
func packing(_ *cluster, m *machine, r Request) int {
	if r.DeviceNumber == 0 {
		return 0
	}
	if n := m.whole(); n == m.DeviceNumber {
		return max(33-n, n)
	}
	whole, percent := 0, 0
	for _, i := range m.leastLeft(r) {
		percent += m.devices[i] * 100 / device
		if m.devices[i] == device {
			whole++
		}
	}
	if whole > 0 {
		return max(50-whole, 33)
	}
	return max(100-percent/10, 50)
}

// leastFragments prefers machines whose fragments grow least.
func leastFragments(c *cluster, m *machine, r Request) int {
	score, _ := c.bestDevice(m, r)
	return score
}

func leastFragmented(c *cluster, m *machine, r Request) []int {
	_, i := c.bestDevice(m, r)
	return []int{i}
}

// bestDevice returns the score of a machine, and for a Pod with a share its best device.
func (c *cluster) bestDevice(m *machine, r Request) (score, best int) {
	after := func(devices []int) int {
		for _, i := range devices {
			m.devices[i] -= r.Share
		}
		fragment := fragmentOf(c.typical, c.usable[m.Model], m.cpu-r.CPU, m.devices)
		for _, i := range devices {
			m.devices[i] += r.Share
		}
		return int(sigmoid((m.fragment-fragment)/device) * 100)
	}
	if !r.shared() {
		return after(m.leastLeft(r)), -1
	}
	score = -1
	for i, left := range m.devices {
		if left < r.Share {
			continue
		}
		if s := after([]int{i}); s > score {
			score, best = s, i
		}
	}
	return score, best
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func leastLeft(_ *cluster, m *machine, r Request) []int { return m.leastLeft(r) }

// drawn draws one of the devices that have enough left.
func drawn(c *cluster, m *machine, r Request) []int {
	best, n := -1, 0
	for i, left := range m.devices {
		if left >= r.Share {
			if n++; c.random.Intn(n) == 0 {
				best = i
			}
		}
	}
	return []int{best}
}
