package openb

import (
	"cmp"
	"maps"
	"slices"
)

// typicalShare is the share of typical Pods among all Pods.
const typicalShare = 0.95

// A typical Pod is a request that many Pods have; memory does not count.
type typical struct {
	Request
	share float64 // of all typical Pods
}

// typicalPods returns the most frequent requests.
func (t *Trace) typicalPods() (list []typical) {
	number := map[Request]int{}
	for _, p := range t.Pods {
		r := p.Request
		r.Memory = 0
		number[r]++
	}
	requests := slices.SortedFunc(maps.Keys(number), func(a, b Request) int {
		return -cmp.Or(cmp.Compare(number[a], number[b]), a.compare(b))
	})
	sum := 0
	for _, r := range requests {
		if float64(sum) >= typicalShare*float64(len(t.Pods)) {
			break
		}
		list = append(list, typical{r, float64(number[r])})
		sum += number[r]
	}
	for i := range list {
		list[i].share /= float64(sum)
	}
	return list
}

func (r Request) compare(other Request) int {
	return cmp.Or(cmp.Compare(r.CPU, other.CPU), cmp.Compare(r.Share, other.Share),
		cmp.Compare(r.DeviceNumber, other.DeviceNumber), cmp.Compare(r.Models, other.Models))
}

// fragmentOf returns the expected idle capacity of a machine that a typical Pod cannot use, if the
// machine had this CPU and these devices left. Pods[i] is nil if the machine's GPU model does not
// suit it.
func fragmentOf(pods []typical, usable []bool, cpu int, devices []int) (sum float64) {
	idle := 0
	for _, left := range devices {
		idle += left
	}
	if idle == 0 {
		return 0
	}
	for i := range pods {
		p := &pods[i]
		wasted := idle
		if p.DeviceNumber > 0 && p.CPU <= cpu && usable[i] {
			if fragment, fits := tooSmall(devices, p.Request); fits {
				wasted = fragment
			}
		}
		sum += p.share * float64(wasted)
	}
	return sum
}

// tooSmall returns the sum of the capacity left on devices that have less than a Pod needs, and
// whether the other devices are enough.
func tooSmall(devices []int, r Request) (sum int, enough bool) {
	n := 0
	for _, left := range devices {
		if left < r.Share {
			sum += left
		} else {
			n++
		}
	}
	return sum, n >= r.DeviceNumber
}
