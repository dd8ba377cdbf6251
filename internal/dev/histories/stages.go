package histories

import (
	_ "embed" // the Stages
	"fmt"
	"strings"
	"sync"

	"github.com/stagecraft-go/stagecraft/stage"
)

// phases is the number of Stages that a Pod goes through.
const phases = 6

// stages are the Stages of a history. Other versions differ in a text only.
func stages(version, delay int) string {
	var b strings.Builder
	for i := range phases {
		from := fmt.Sprintf("p%d", i)
		if i == 0 {
			from = "Pending"
		}
		b.WriteString(strings.NewReplacer("$I", fmt.Sprint(i), "$FROM", from, "$TO", fmt.Sprintf("p%d", i+1), "$VERSION", fmt.Sprint(version), "$DELAY", fmt.Sprint(delay)).Replace(phase))
	}
	return b.String() + deletion
}

var sets sync.Map // of Set, by the text of the Stages

// compiled is the Set of a version. Without the map, histories spend two fifths of their time in compiling nine Sets.
func compiled(version, delay int) *stage.Set {
	text := stages(version, delay)
	if set, is := sets.Load(text); is {
		return set.(*stage.Set)
	}
	set := stage.MustCompile(stage.Parse("history.yaml", []byte(text)))
	sets.Store(text, set)
	return set
}

//go:embed phase.yaml
var phase string

//go:embed deletion.yaml
var deletion string
