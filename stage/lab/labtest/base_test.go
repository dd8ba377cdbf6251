package labtest_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
)

// TestALabOfABaseIsAsANewOne compares all objects after a rollout, byte for byte. It also compares
// labs that run at the same time.
func TestALabOfABaseIsAsANewOne(t *testing.T) {
	o := labtest.Options{Seed: 7, Quiet: true, NoEvents: true}
	want := rolledOut(labtest.New(t, o))
	require.NotEmpty(t, want)
	base := labtest.Prepare(t, o)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			got := rolledOut(base.New(t))
			if len(got) != len(want) {
				t.Errorf("%d objects, want %d", len(got), len(want))
			}
			for i := range min(len(got), len(want)) {
				if got[i] != want[i] {
					t.Errorf("%s\nwant %s", got[i], want[i])
				}
			}
		})
	}
	all.Wait()
}

func rolledOut(lab *labtest.Lab) (objects []string) {
	for _, image := range []string{"nginx:1", "nginx:2"} {
		lab.Apply(strings.Replace(web, "image: nginx", "image: "+image, 1))
		lab.WaitCurrent()
		lab.Advance(time.Minute)
	}
	for obj := range lab.Cluster().All() {
		unversioned := obj.DeepCopy()
		unversioned.SetResourceVersion("")
		text, err := unversioned.MarshalJSON()
		if err != nil {
			text = []byte(err.Error())
		}
		objects = append(objects, string(text))
	}
	return objects
}
