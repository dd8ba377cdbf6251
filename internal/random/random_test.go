package random

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// numberByBytes is FNV-1a as it is defined.
func numberByBytes(h Hash, n uint64) Hash {
	for range 8 {
		h = (h ^ Hash(n&0xff)) * fnvPrime
		n >>= 8
	}
	return h
}

func TestHashOfNumbersIsThatOfTheirBytes(t *testing.T) {
	for _, n := range []uint64{0, 1, 7, 254, 255, 256, 257, 1 << 8, 1 << 32, 1<<56 + 3, math.MaxUint64} {
		for _, h := range []Hash{0, 1, fnvOffset, math.MaxUint64} {
			require.Equal(t, numberByBytes(h, n), h.Number(n), "%d", n)
		}
	}
}
