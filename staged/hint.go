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
	hint := hintAt(source, e.Offset, strings.Contains(e.Err.Error(), "no matching overload")) // CEL has no code for it
	if hint == "" {
		return e
	}
	with := *e
	with.Err = fmt.Errorf("%w; %s", e.Err, hint)
	return &with
}

// hintAt returns what to write instead of what stands at an offset of an expression; "" if that is not
// known. At an operator there is something to say if the types of its sides are at fault.
func hintAt(source string, offset int, ofTypes bool) string {
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
	case !ofTypes:
	case strings.ContainsAny(rest[:1], "+-*/"):
		return "numbers of two types are not computed with each other: want double(…) around the integer"
	case strings.HasPrefix(rest, "==") || strings.HasPrefix(rest, "!="):
		return "values of these types are never equal: want one of int(…), double(…), string(…) or duration(…) around one side"
	case strings.ContainsAny(rest[:1], "<>"):
		return "values of these types have no order: want one of int(…), double(…) or duration(…) around one side"
	}
	return ""
}
