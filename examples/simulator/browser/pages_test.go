package browser

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPagesOfPackages looks at the page of a failure of a hunt, and at that of a rehearsal.
func TestPagesOfPackages(t *testing.T) {
	b := start(t)
	rehearsal, err := filepath.Abs("../../../staged/rehearse/testdata/flapping.html")
	require.NoError(t, err)
	for file, tables := range map[string]int{pageOfAHunt(t): 2, rehearsal: 1} {
		for scheme, color := range map[string]string{"light": "rgb(255, 255, 255)", "dark": "rgb(13, 17, 23)"} {
			for _, width := range []int64{1200, 400} {
				f := b.look(t, file, scheme, width)
				require.Empty(t, f.Faults, "%s %s %d", file, scheme, width)
				require.Equal(t, findings{Faults: f.Faults, Tables: tables, Page: color}, f, file)
			}
		}
		if *screenshot != "" {
			b.picture(t, file, "light", filepath.Join(filepath.Dir(*screenshot), filepath.Base(file)+".png"))
		}
	}
}

// pageOfAHunt plays a plan whose page -hunt.page writes.
func pageOfAHunt(t *testing.T) string {
	file := filepath.Join(t.TempDir(), "hunt.html")
	cmd := exec.Command("go", "test", "-vet=off", "-count=1", "-run", "TestEachShopHasOnePassword", ".", "-hunt.page="+file,
		"-hunt.replay=testdata/hunt/TestEachShopHasOnePassword/the-same-end-Secret.hunt")
	cmd.Dir = "../../stagecraft/testdata/passwords"
	out, err := cmd.CombinedOutput()
	require.Error(t, err, "the plan fails")
	require.FileExists(t, file, string(out))
	return file
}
