package openb

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestScores computes scores by hand: of an idle node, a node with a Pod that has a share, and a
// node with a Pod that has a whole device.
func TestScores(t *testing.T) {
	share, half, whole, none := Request{CPU: 4000, DeviceNumber: 1, Share: 300}, Request{CPU: 4000, DeviceNumber: 1, Share: 500}, Request{CPU: 4000, DeviceNumber: 1, Share: 1000}, Request{CPU: 4000}
	c := &cluster{typical: []typical{{half, 0.5}, {whole, 0.25}, {none, 0.25}}, usable: map[string][]bool{"T4": {true, true, true}}}
	idle := newMachine(Node{Model: "T4", CPU: 64000, DeviceNumber: 2}, 0)
	shared := newMachine(idle.Node, 0)
	shared.place(share, []int{0})
	used := newMachine(idle.Node, 0)
	used.place(whole, []int{0})
	for _, m := range []*machine{idle, shared, used} {
		m.fragment = fragmentOf(c.typical, c.usable[m.Model], m.cpu, m.devices)
	}
	require.Equal(t, []float64{500, 0.5*0 + 0.25*700 + 0.25*1700, 250}, []float64{idle.fragment, shared.fragment, used.fragment})
	for name, want := range map[string][]int{
		// a share on: idle, shared, used;  a whole device on the same
		"02-DotProd":       {98, 98, 99, 97, 97, 98},
		"03-GpuClustering": {43, 94, 21, 43, 19, 96},
		"04-GpuPacking":    {31, 93, 49, 31, 49, 49},
		"05-BestFit":       {65, 69, 73, 70, 73, 78},
	} {
		p, err := policyOf(name)
		require.NoError(t, err)
		var got []int
		for _, r := range []Request{share, whole} {
			for _, m := range []*machine{idle, shared, used} {
				got = append(got, p.score(c, m, r))
			}
		}
		require.Equal(t, want, got, name)
	}
	require.Zero(t, clustering(c, idle, none))
	require.Zero(t, packing(c, idle, none))
}

// TestFGD: a second Pod with 300 goes where the first one is. That leaves 400, which is not enough
// for a typical Pod of 500, but breaks no other device.
func TestFGD(t *testing.T) {
	half, whole := Request{CPU: 4000, DeviceNumber: 1, Share: 500}, Request{CPU: 4000, DeviceNumber: 1, Share: 1000}
	c := &cluster{typical: []typical{{half, 0.2}, {whole, 0.8}}, usable: map[string][]bool{"T4": {true, true}}}
	m := newMachine(Node{Model: "T4", CPU: 64000, DeviceNumber: 3}, 0)
	m.place(Request{DeviceNumber: 1, Share: 300}, []int{1})
	m.fragment = fragmentOf(c.typical, c.usable["T4"], m.cpu, m.devices)
	require.InDelta(t, 0.8*700, m.fragment, 1e-9)
	score, best := c.bestDevice(m, Request{DeviceNumber: 1, Share: 300})
	require.Equal(t, 1, best)
	require.Equal(t, int(sigmoid((560-400.0)/1000)*100), score)
	require.Equal(t, []int{0, 2}, m.leastLeft(Request{DeviceNumber: 2, Share: 1000}))
	require.Nil(t, m.leastLeft(Request{DeviceNumber: 3, Share: 1000}))
}

func TestTypicalPods(t *testing.T) {
	trace := &Trace{}
	for i := range 40 {
		r := Request{CPU: 1000, Memory: i}
		if i >= 20 {
			r.CPU = 2000
		}
		if i == 39 {
			r.CPU = 3000
		}
		trace.Pods = append(trace.Pods, Pod{Request: r})
	}
	require.Equal(t, []typical{{Request{CPU: 1000}, 20.0 / 39}, {Request{CPU: 2000}, 19.0 / 39}}, trace.typicalPods())
}
