package celrule

import (
	"fmt"
	"regexp"

	"github.com/stagecraft-go/stagecraft/internal/position"
)

// hints are what to write in place of a name that other languages, or other places in which
// Kubernetes uses CEL, have.
var hints = map[string]string{
	"object": "self, which is the object", "obj": "self, which is the object", "resource": "self, which is the object",
	"now": "Now()", "NOW": "Now()", "time": "Now()",
	"True": "true", "TRUE": "true", "False": "false", "FALSE": "false",
	"None": "null", "nil": "null", "undefined": "null",
	"and": "&&", "or": "||", "not": "!", "=": "==",
	"conditions": "status.conditions", "phase": "status.phase", "observedGeneration": "status.observedGeneration",
	"replicas": "status.replicas or spec.replicas", "generation": "metadata.generation", "name": "metadata.name",
}

var token = regexp.MustCompile(`^([A-Za-z_][A-Za-z_0-9]*|=)`)

// hinted adds to the faults of an expression what to write instead of the token at which it is
// wrong, if that is known. A field of the object at which an expression is wrong stands in has(),
// which wants a field of something.
func hinted(source string, faults []*position.Error) []*position.Error {
	for i, f := range faults {
		if f.Offset < 0 || f.Offset >= len(source) {
			continue
		}
		word := token.FindString(source[f.Offset:])
		instead := hints[word]
		if isTopLevel(word) {
			instead = "self." + word
		}
		if instead != "" {
			with := *f
			with.Err = fmt.Errorf("%w; write %s", f.Err, instead)
			faults[i] = &with
		}
	}
	return faults
}
