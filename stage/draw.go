package stage

import "math/bits"

// A hash turns the names of things into a random number that depends on nothing else: not on the order of events, the number of
// workers, other objects, or the machine.
//
// It is FNV-1a over the bytes and lengths, finished by the mixer of splitmix64, which makes all bits of the result depend on all
// of the input. Changing it changes every recorded trace.
type hash uint64

const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
	fnvPrime8 = fnvPrime * fnvPrime * fnvPrime * fnvPrime * fnvPrime * fnvPrime * fnvPrime * fnvPrime % (1 << 64)
)

func newHash(seed uint64) hash { return hash(fnvOffset).number(seed) }

// text adds a string and its length, so that "a","bc" differs from "ab","c".
func (h hash) text(s string) hash {
	for i := range len(s) {
		h = (h ^ hash(s[i])) * fnvPrime
	}
	return h.number(uint64(len(s)))
}

// number adds the eight bytes of n. Those of a small one are zeros but for the first, and a zero only multiplies: eight steps are one.
func (h hash) number(n uint64) hash {
	if n < 256 {
		return (h ^ hash(n)) * fnvPrime8
	}
	for range 8 {
		h = (h ^ hash(n&0xff)) * fnvPrime
		n >>= 8
	}
	return h
}

func (h hash) sum() uint64 {
	z := uint64(h)
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

// identity is what all draws of one object begin with: (seed, group, kind, namespace, name).
func (k Key) identity(seed uint64) hash {
	return newHash(seed).text(k.Group).text(k.Kind).text(k.Namespace).text(k.Name)
}

// draws are the random numbers of the n-th entry of one object.
type draws hash

func (h hash) entry(n uint64) draws { return draws(h.number(n)) }

// choice decides between the Stages that match.
func (d draws) choice() uint64 { return hash(d).text("choice").sum() }

// delay decides the delay of the chosen Stage.
func (d draws) delay(stage string) uint64 { return hash(d).text("delay").text(stage).sum() }

// eval is the seed of Rand() in the expressions of the Stage with that salt. It is asked for at every match, so it is cheap.
func (d draws) eval(salt uint64) uint64 { return uint64(d) ^ salt }

// effects is the seed of random functions in templates.
func (d draws) effects(stage string) uint64 { return hash(d).text("effects").text(stage).sum() }

// below maps a random number to [0, n), uniformly up to a bias of n/2^64.
func below(random, n uint64) uint64 {
	hi, _ := bits.Mul64(random, n)
	return hi
}
