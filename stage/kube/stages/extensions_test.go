package stages_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// later is a Stage with an extension: it is played after ten seconds and the offset.
func later(offset string) string {
	return strings.Replace(stageNamed("run", "Pending", "Running", 10*time.Second), "{name: run}",
		`{name: run, annotations: {other: one, stagecraft-go.github.io/delay: "offset: `+offset+`"}}`, 1)
}

// annotate changes only the annotations of the Stage, so that its generation stays.
func (l *lab) annotate(manifest string) {
	l.Helper()
	obj := l.stage("run")
	obj.SetAnnotations(object(l.T, manifest).GetAnnotations())
	_, err := l.cluster.Update(l.Context(), obj, metav1.UpdateOptions{})
	require.NoError(l, err)
	l.wait(0)
}

func TestExtensionsAreRefusedWithoutTheOption(t *testing.T) {
	bubble(t, func(t *testing.T, l *lab) {
		l.create(later("5s"))
		l.play()
		require.Equal(t, `Accepted=False Invalid @1 metadata.annotations["stagecraft-go.github.io/delay"]: an extension, which kwok does not have; `+
			"to play it, set Extensions in the Options of stage.Compile; no version is in use", l.condition("run"))
		l.wait(time.Hour)
		require.Equal(t, "Pending", l.phase("a"))
	})
}

func TestExtensionsOfTheClusterArePlayed(t *testing.T) {
	bubble(t, func(t *testing.T, l *lab) {
		l.compile.Extensions = true
		l.create(later("5s"))
		l.play()
		require.Equal(t, "Accepted=True Compiled @1 ", l.condition("run"))
		l.wait(15*time.Second - 1)
		require.Equal(t, "Pending", l.phase("a"))
		l.wait(1)
		require.Equal(t, "Running", l.phase("a"))
	})
}

func TestExtensionsChangeWithoutANewGeneration(t *testing.T) {
	bubble(t, func(t *testing.T, l *lab) {
		l.compile.Extensions = true
		l.create(later("1h"))
		l.play()
		l.wait(9 * time.Second)
		l.annotate(strings.Replace(later("1h"), "other: one", "other: two", 1))
		require.Len(t, l.verdicts, 1, "other annotations are no new version")
		l.annotate(later("soon"))
		require.Equal(t, `Accepted=False Invalid @1 metadata.annotations["stagecraft-go.github.io/delay"]:1:9: `+
			`offset: "soon" is no duration such as 1m30s; the extensions that it had before stay in use`, l.condition("run"))
		l.annotate(later("-5s"))
		require.Equal(t, "Accepted=True Compiled @1 ", l.condition("run"))
		l.wait(5*time.Second - 1)
		require.Equal(t, "Pending", l.phase("a"))
		l.wait(1)
		require.Equal(t, "Running", l.phase("a"))
	})
}
