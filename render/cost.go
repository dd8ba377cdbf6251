package render

import (
	"math"
	"reflect"
	"strings"

	"github.com/stagecraft-go/stagecraft/internal/regexcost"
)

// costFunc returns the steps that a call will need, in addition to its arguments and results. It is
// a float64 because that cannot overflow.
type costFunc func(in []reflect.Value) float64

// statesPerStep is the number of states of a regular expression that cost one step.
const statesPerStep = 32

// costs has the functions whose results or work can be much larger than their arguments.
var costs = map[string]costFunc{
	"until":     func(in []reflect.Value) float64 { return math.Abs(argument(in[0])) },
	"untilStep": func(in []reflect.Value) float64 { return span(argument(in[0]), argument(in[2]), argument(in[1])) },
	"seq":       seqCost,

	"repeat":    func(in []reflect.Value) float64 { return bytes(argument(in[0]) * length(in[1])) },
	"indent":    indentCost,
	"nindent":   indentCost,
	"replace":   replaceCost,
	"join":      func(in []reflect.Value) float64 { return bytes(length(in[0]) * length(in[1])) },
	"wrap":      func(in []reflect.Value) float64 { return length(in[1]) },
	"wrapWith":  func(in []reflect.Value) float64 { return length(in[2]) + bytes((1+length(in[1]))*length(in[2])) },
	"split":     func(in []reflect.Value) float64 { return 4 * pieces(in[0], in[1]) },
	"splitn":    func(in []reflect.Value) float64 { return 4 * pieces(in[0], in[2]) },
	"splitList": func(in []reflect.Value) float64 { return pieces(in[0], in[1]) },
	"trimall":   productCost, "trimAll": productCost,

	"randBytes": countCost, "randNumeric": countCost, "randAlpha": countCost, "randAlphaNum": countCost, "randAscii": countCost,

	"semverCompare": func(in []reflect.Value) float64 { return 2*length(in[0]) + length(in[1])/4 },
	"semver":        func(in []reflect.Value) float64 { return bytes(8 * length(in[0])) },
	"toDate":        parseCost, "mustToDate": parseCost,
	"dateModify": parseCost, "date_modify": parseCost, "mustDateModify": parseCost, "must_date_modify": parseCost,
	"dateInZone": zoneCost, "date_in_zone": zoneCost, "htmlDateInZone": zoneCost,
	"add1f": decimalCost, "addf": decimalCost, "subf": decimalCost, "divf": decimalCost, "mulf": decimalCost,

	"uniq": quadraticCost, "mustUniq": quadraticCost, "without": productCost, "mustWithout": productCost,

	"regexMatch": matchCost, "mustRegexMatch": matchCost, "regexFind": matchCost, "mustRegexFind": matchCost,
	"regexFindAll": scanCost, "mustRegexFindAll": scanCost, "regexSplit": scanCost, "mustRegexSplit": scanCost,
	"regexReplaceAll": rewriteCost, "mustRegexReplaceAll": rewriteCost,
	"regexReplaceAllLiteral": rewriteCost, "mustRegexReplaceAllLiteral": rewriteCost,
}

// numberRate is how much more a value takes where a number is wanted: it is in the error, as Go
// prints it.
const numberRate = 16

// takesNumbers are the functions that convert their arguments to numbers.
var takesNumbers = names(`add1 add sub div mod mul add1f addf subf divf mulf biggest max min maxf minf ceil floor round int int64
	float64 toDecimal atoi`)

func bytes(n float64) float64 { return max(n, 0) / bytesPerStep }

func argument(v reflect.Value) float64 { return float64(v.Int()) }

// length is the length of a string or a list, also within an interface; 1 for everything else.
func length(v reflect.Value) float64 {
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.String, reflect.Slice, reflect.Array, reflect.Map:
		return float64(v.Len())
	}
	return 1
}

// parseCost is that of an error with the text in it.
func parseCost(in []reflect.Value) float64 {
	size := 0.0
	for _, v := range in {
		size += length(v)
	}
	return bytes(16 * size)
}

// zoneCost is that of reading a time zone from a file.
func zoneCost([]reflect.Value) float64 { return 64 }

// decimalCost is that of an exact calculation with numbers of very different sizes.
func decimalCost([]reflect.Value) float64 { return 64 }

func countCost(in []reflect.Value) float64 { return max(argument(in[0]), 0) }

func productCost(in []reflect.Value) float64 { return length(in[0]) * length(in[1]) / 16 }

func quadraticCost(in []reflect.Value) float64 { return length(in[0]) * length(in[0]) / 16 }

// span returns the number of steps from start to stop.
func span(start, step, stop float64) float64 {
	if step == 0 {
		return 0
	}
	return max((stop-start)/step, 0)
}

func seqCost(in []reflect.Value) float64 {
	first, past, step := seqBounds(in[0].Interface().([]int))
	return span(float64(first), float64(step), float64(past))
}

func indentCost(in []reflect.Value) float64 {
	lines := 1 + strings.Count(in[1].String(), "\n")
	return bytes(argument(in[0]) * float64(lines))
}

func replaceCost(in []reflect.Value) float64 {
	found := strings.Count(in[2].String(), in[0].String())
	return bytes(float64(found) * length(in[1]))
}

func pieces(sep, s reflect.Value) float64 {
	return 1 + float64(strings.Count(s.String(), sep.String()))
}

// matchCost is the cost of one search: the states of the expression for every byte, after compiling
// it.
func matchCost(in []reflect.Value) float64 { return searchCost(in, 1) }

// scanCost is the cost of many searches. Each search may look at the whole rest of the text.
func scanCost(in []reflect.Value) float64 { return searchCost(in, 1+length(in[1])/4) }

func searchCost(in []reflect.Value, searches float64) float64 {
	states := regexcost.States(in[0].String())
	return (float64(regexcost.Compile(states)) + float64(states)*(1+length(in[1]))*searches) / statesPerStep
}

// rewriteCost adds the largest result: every replacement can hold the whole text.
func rewriteCost(in []reflect.Value) float64 {
	return scanCost(in) + bytes(length(in[1])*length(in[2]))
}

// widest is the largest width and precision that fmt accepts.
const widest = 1e6

// formatCost returns the largest output of a format in addition to its arguments of the given
// weight: the widths in the format, the widths given as arguments, and arguments printed again by
// index.
func formatCost(format string, args []any, weight float64) float64 {
	size := widths(format)
	if strings.Contains(format, "*") {
		for _, arg := range args {
			n, _ := whole(arg)
			size += min(math.Abs(float64(n)), widest)
		}
	}
	return bytes(size) + weight*float64(strings.Count(format, "["))
}

// widths adds up all numbers in a format.
func widths(format string) float64 {
	sum, n := 0.0, 0.0
	for _, c := range []byte(format) {
		if c < '0' || c > '9' {
			sum, n = sum+n, 0
			continue
		}
		n = min(10*n+float64(c-'0'), widest)
	}
	return sum + n
}
