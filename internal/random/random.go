// Package random makes random numbers that repeat: each number is a hash of the names of its
// purpose, such as an object and a Stage.
//
// # Determinism
//
// Every function is pure. Recorded traces and the seeds of users depend on the numbers: they must
// not change.
package random

import "math/bits"

// A Hash turns names into a random number that depends only on them. It does not depend on the
// order of events, the number of workers, other objects, or the machine.
//
// It is FNV-1a over the bytes and lengths, finished by the mixer of splitmix64, which makes all
// bits of the result depend on all of the input. Changing it changes every recorded trace.
type Hash uint64

const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
	fnvPrime8 = fnvPrime * fnvPrime * fnvPrime * fnvPrime * fnvPrime * fnvPrime * fnvPrime * fnvPrime % (1 << 64)
)

// New returns the Hash that begins with a seed.
func New(seed uint64) Hash { return Hash(fnvOffset).Number(seed) }

// Text adds a string and its length, so that "a","bc" differs from "ab","c".
func (h Hash) Text(s string) Hash {
	for i := range len(s) {
		h = (h ^ Hash(s[i])) * fnvPrime
	}
	return h.Number(uint64(len(s)))
}

// LongText is Text for strings such as uids: it takes eight bytes in one step, and is another hash.
func (h Hash) LongText(s string) Hash {
	n := len(s)
	for ; len(s) >= 8; s = s[8:] {
		word := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		hi, lo := bits.Mul64(uint64(h)^word, 0x9e3779b97f4a7c15)
		h = Hash(hi ^ lo)
	}
	return h.Text(s).Number(uint64(n))
}

// Number adds the eight bytes of n. In a small n all bytes except the first are zero. A zero byte
// only multiplies, so the steps of several zero bytes are one multiplication.
func (h Hash) Number(n uint64) Hash {
	if n < 256 {
		return (h ^ Hash(n)) * fnvPrime8
	}
	for range 8 {
		h = (h ^ Hash(n&0xff)) * fnvPrime
		n >>= 8
	}
	return h
}

// Sum is the random number.
func (h Hash) Sum() uint64 {
	z := uint64(h)
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

// Below maps a random number to [0, n), uniformly up to a bias of n/2^64.
func Below(random, n uint64) uint64 {
	hi, _ := bits.Mul64(random, n)
	return hi
}
