package amount_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/stagecraft-go/stagecraft/stage/lab/containers/internal/amount"
)

// TestFloatIsExact: the number is the one that Go reads from the digits.
func TestFloatIsExact(t *testing.T) {
	for text, want := range map[string]float64{
		"200000u": 0.2, "200000000n": 0.2, "200m": 0.2, "35m": 0.035, "-1500m": -1.5, "64Mi": 64 << 20, "0.5Mi": 1 << 19, "0": 0,
		"1E": 1e18, "9E99": 9e99, "7e-9": 7e-9,
	} {
		q := resource.MustParse(text)
		require.Equal(t, want, amount.Float(q), text)
		require.Equal(t, resource.MustParse(text), q, "the amount is unchanged")
	}
	require.Equal(t, 0.2, amount.Float(*resource.NewScaledQuantity(200000, resource.Micro)))
}
