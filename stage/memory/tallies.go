package memory

import "maps"

// keptCounts is the least number of keys that a table remembers. Their names take a few megabytes.
const keptCounts = 1 << 13

// tallies count something for each key. They remember only the latest keys, so that their memory is
// bounded: at least keptCounts keys, and at most twice as many. The count of a forgotten key or of
// a new key is the highest count that was ever forgotten. So no key has the same count twice.
type tallies[K comparable] struct {
	young, old map[K]uint64 // nil until something is counted
	forgotten  uint64       // the highest count that is no longer remembered
}

// of returns the count of a key.
func (c *tallies[K]) of(key K) uint64 {
	if n, known := c.young[key]; known {
		return n
	}
	if n, known := c.old[key]; known {
		return n
	}
	return c.forgotten
}

// add counts a key once more.
func (c *tallies[K]) add(key K) {
	n := c.of(key) + 1
	if len(c.young) >= keptCounts {
		for _, n := range c.old {
			c.forgotten = max(c.forgotten, n)
		}
		c.young, c.old = nil, c.young
	}
	if c.young == nil {
		c.young = map[K]uint64{}
	}
	c.young[key] = n
}

func (c *tallies[K]) clone() tallies[K] {
	return tallies[K]{young: maps.Clone(c.young), old: maps.Clone(c.old), forgotten: c.forgotten}
}
