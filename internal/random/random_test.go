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

func TestLongTextTakesInEveryByte(t *testing.T) {
	text := []byte("7a0b2c5e-9a1c-4f7e-8d0b-2f4a5c6e7d80")
	seen := map[Hash]bool{}
	for n := range len(text) + 1 {
		seen[New(1).LongText(string(text[:n]))] = true
	}
	for i := range text {
		for bit := range 8 {
			text[i] ^= 1 << bit
			seen[New(1).LongText(string(text))] = true
			text[i] ^= 1 << bit
		}
	}
	require.Len(t, seen, len(text)+1+8*len(text))
}
