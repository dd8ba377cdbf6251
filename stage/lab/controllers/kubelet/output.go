package kubelet

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
)

// Printed is a line that a container prints on its standard output.
type Printed struct {
	// After is when, counted from the start of the container.
	After time.Duration
	// Text is the line without its end.
	Text string
}

// Output returns what a run of a container prints, if its command or the annotation of
// [CommandSuffix] says it: with echo, or nothing with other known commands. It returns false for a
// container whose command is not known, or that Options.Program replaces.
func Output(pod *unstructured.Unstructured, container string, run int, o Options) ([]Printed, bool) {
	for _, list := range []string{"containers", "initContainers"} {
		for _, spec := range fields.Maps(pod.Object, "spec", list) {
			if fields.String(spec, "name") != container {
				continue
			}
			if o.Program != nil && fields.Annotation(pod, CommandSuffix+container) == "" {
				if _, ok := o.Program(pod, container, run); ok {
					return nil, false
				}
			}
			p, err := Options{}.program(pod, spec, int64(run))
			return p.prints, err == nil && p.known
		}
	}
	return nil, false
}

// shellCharacters mean something to a shell in the words of echo.
const shellCharacters = "\"'`$\\*?[]{}()<>|&~#!"

// parseEcho reads the words after echo. One with a flag is not known.
func parseEcho(words []string) (p program, exits, ok bool) {
	if len(words) > 0 && strings.HasPrefix(words[0], "-") {
		return program{}, false, false
	}
	text := strings.Join(words, " ")
	for line := range strings.SplitSeq(text, "\n") {
		p.prints = append(p.prints, Printed{Text: line})
	}
	p.known = true
	return p, false, true
}
