package memory

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/validation"
)

func TestPlainNamesAreThoseOfKubernetes(t *testing.T) {
	long := strings.Repeat("a", 63)
	for name, plain := range map[string]bool{
		"a": true, "a.b": true, "a-b.0": true, long + "." + long: true, strings.Repeat("a.", 126) + "a": true,
		long + "a.b": false, strings.Repeat("a.", 127) + "a": false, "": false, "a..b": false, ".a": false, "a.": false, "-a.b": false,
		"a.b-": false, "a.B": false, "a_b": false, "a b": false, "ä": false,
	} {
		require.Equal(t, plain, isSubdomain(name), name)
		if plain {
			require.Empty(t, validation.IsDNS1123Subdomain(name), name)
		}
	}
}
