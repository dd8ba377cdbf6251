package bench

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"
)

const corpus = "../../../../shared/conformance"

func scenarios(t testing.TB) []Scenario {
	all, err := Scenarios(corpus)
	if errors.Is(err, fs.ErrNotExist) {
		t.Logf("without the conformance corpus: %v", err)
		return all
	}
	require.NoError(t, err)
	return all
}

func TestPlayersDoTheSame(t *testing.T) {
	for _, s := range scenarios(t) {
		t.Run(s.Name, func(t *testing.T) {
			first, err := s.Sides[0].Match()
			require.NoError(t, err)
			for _, p := range s.Sides {
				n, err := p.Match()
				require.NoError(t, err, p.Name)
				require.Equal(t, first, n, p.Name)
				bytes, err := p.Whole()
				require.NoError(t, err, p.Name)
				require.Equal(t, first > 0, bytes > 0, p.Name)
			}
		})
	}
}

func BenchmarkMatch(b *testing.B) {
	each(b, func(p Side) func() (int, error) { return p.Match })
}

func BenchmarkWhole(b *testing.B) {
	each(b, func(p Side) func() (int, error) { return p.Whole })
}

func each(b *testing.B, of func(Side) func() (int, error)) {
	for _, s := range scenarios(b) {
		for _, p := range s.Sides {
			play := of(p)
			b.Run(s.Name+"/"+p.Name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := play(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
