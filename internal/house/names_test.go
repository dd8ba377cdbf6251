package house_test

import (
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// maxNames is the largest number of exported names of a public package, including constants.
// Methods and fields are not counted.
const maxNames = 30

// moreNames are the packages that have more, and why.
var moreNames = map[string]struct {
	most int
	why  string
}{
	"stage":           {40, "the design allows it 40: seven constants are kinds of one trace"},
	"stage/v1alpha1":  {33, "is the API of kwok, type by type"},
	"staged/v1alpha1": {76, "is the API of the StagedBindingPolicy, type by type"},
	"stage/lab/hunt":  {42, "issue 41 writes it again"},
}

func TestPackagesHaveFewNames(t *testing.T) {
	seen := map[string]bool{}
	for _, dir := range published(t) {
		packages := exported(t, dir)
		imports := importerOf(t, dir)
		for path, p := range packages {
			if p.DepOnly || p.Name == "main" || isInternal(path) {
				continue
			}
			pkg, err := imports.Import(path)
			require.NoError(t, err)
			names := 0
			for _, name := range pkg.Scope().Names() {
				if token.IsExported(name) {
					names++
				}
			}
			name, most := strings.TrimPrefix(path, module), maxNames
			if more, ok := moreNames[name]; ok {
				most, seen[name] = more.most, true
				require.Greater(t, names, maxNames, "%s needs no exception", name)
			}
			if names > most {
				t.Errorf("%s has %d exported names, more than %d", name, names, most)
			}
		}
	}
	require.Len(t, seen, len(moreNames))
}
