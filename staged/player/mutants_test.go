package player_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	playMutants = flag.Uint64("mutants", 0, "how many histories of each transport TestMutants plays against each mutant; 0: it only checks that the mutants apply")
	oneMutant   = flag.String("mutant", "", "play the mutants in whose names this text is")
)

// A mutant is the engine with one rule less: in a file, below staged, one text stands for another.
type mutant struct {
	rule, name     string // of the specification, and what the mutant does
	file, old, new string
}

// TestMutants checks that the model sees: each mutant breaks one rule, and the histories must find that.
// The table is printed. The mutants of F2 are played again with -together, in which delivery and report are one
// step: with 60 histories of each transport the one that counts a report of any revision is found by history 20
// of OCM, and not at all in one step. Two mutants of the fence and of restored statuses are found by
// TestALateWriteChangesNothing and TestRecovering, and by no history: what a restored status says is believed there.
func TestMutants(t *testing.T) {
	require.GreaterOrEqual(t, len(mutants), 30)
	for _, m := range mutants {
		source, err := os.ReadFile(filepath.Join("..", m.file))
		require.NoError(t, err)
		require.Equal(t, 1, strings.Count(string(source), m.old), "mutant %q of %s does not apply any more: %s", m.name, m.file, m.old)
		if *playMutants == 0 || !strings.Contains(m.name, *oneMutant) {
			continue
		}
		t.Log(m.play(t, strings.Replace(string(source), m.old, m.new, 1)))
	}
}

var foundBy = regexp.MustCompile(`seed (\d+): (\w+): (.*)`)

// play plays the histories against a mutant, and returns a row of the table.
func (m mutant) play(t *testing.T, source string) string {
	dir := t.TempDir()
	changed, binary := filepath.Join(dir, "mutant.go"), filepath.Join(dir, "mutant.test")
	require.NoError(t, os.WriteFile(changed, []byte(source), 0o600))
	original, err := filepath.Abs(filepath.Join("..", m.file))
	require.NoError(t, err)
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{original: changed}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600))
	out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", binary, "-overlay", filepath.Join(dir, "overlay.json"), ".").CombinedOutput()
	if err != nil {
		t.Errorf("mutant %q does not compile: %s", m.name, out)
		return ""
	}
	row := fmt.Sprintf("| %s | %s | %s |", m.rule, m.name, m.hunt(t, binary))
	if strings.Contains(m.name, "F2") {
		row += " in one step: " + m.hunt(t, binary, "-together")
	}
	return row
}

// kinds are the transports in which the file of a mutant has a part.
func (m mutant) kinds() []fleetKind {
	switch {
	case strings.HasPrefix(m.file, "manifestwork/"):
		return []fleetKind{overOCM}
	case strings.HasPrefix(m.file, "application/"):
		return []fleetKind{overArgo}
	case m.file == "player/mark.go" || m.file == "player/space.go":
		return []fleetKind{overSpace}
	case strings.HasPrefix(m.file, "bindingpolicy/") || m.file == "player/kubestellar.go":
		return []fleetKind{overSpace, overHub}
	}
	return []fleetKind{overSpace, overOCM, overArgo, overHub}
}

// someHistories is how many histories of one transport are played before those of the next.
const someHistories = 25

// hunt says which history finds a mutant.
func (m mutant) hunt(t *testing.T, binary string, more ...string) string {
	for first := *firstSeed; first < *firstSeed+*playMutants; first += someHistories {
		for _, kind := range m.kinds() {
			if *only != "" && *only != string(kind) {
				continue
			}
			ctx, stop := context.WithTimeout(t.Context(), time.Hour)
			flags := append([]string{"-test.run", "TestHistories", "-over", string(kind), "-histories", fmt.Sprint(someHistories), "-history", fmt.Sprint(first), "-shrink=false"}, more...)
			out, _ := exec.CommandContext(ctx, binary, flags...).CombinedOutput()
			stop()
			if found := foundBy.FindStringSubmatch(string(out)); found != nil {
				return fmt.Sprintf("%s by history %s of %s", found[2], found[1], kind)
			}
			if strings.Contains(string(out), "panic:") {
				return "a panic over " + string(kind)
			}
		}
	}
	return "**not caught**"
}
