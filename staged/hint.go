package staged

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/stagecraft-go/stagecraft/internal/position"
)

// durationText matches a duration that was written without quotes, up to its unit.
var durationText = regexp.MustCompile(`[0-9]+$`)

// hinted adds to a fault of an expression what to write instead, where the source shows that.
func hinted(source string, e *position.Error) *position.Error {
	hint := hintAt(source, e.Offset)
	if hint == "" {
		return e
	}
	with := *e
	with.Err = fmt.Errorf("%w; %s", e.Err, hint)
	return &with
}

// hintAt returns what to write instead of what stands at an offset of an expression; "" if that is not
// known.
func hintAt(source string, offset int) string {
	if offset < 0 || offset >= len(source) {
		return ""
	}
	rest := source[offset:]
	unit := regexp.MustCompile(`^(ns|us|ms|s|m|h)\b`).FindString(rest)
	switch number := durationText.FindString(source[:offset]); {
	case strings.HasPrefix(rest, "results"):
		return "want obj.results, num(column) or cell(collector, column)"
	case unit != "" && number != "":
		return fmt.Sprintf("want duration('%s%s')", number, unit)
	case strings.ContainsAny(rest[:1], "+-*/"):
		return "numbers of two types are not computed with each other: want double(…) around the integer"
	}
	return ""
}
