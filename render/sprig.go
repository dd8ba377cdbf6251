package render

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// fromSprig are the functions of sprig that are used unchanged: they depend only on their
// arguments.
var fromSprig = names(`
	hello date_modify dateModify must_date_modify mustDateModify duration unixEpoch
	abbrev abbrevboth trunc trim upper lower title untitle substr repeat trimall trimAll trimSuffix trimPrefix nospace
	initials swapcase snakecase camelcase kebabcase wrap wrapWith contains hasPrefix hasSuffix quote squote cat indent
	nindent replace plural sha1sum sha256sum sha512sum adler32sum toString
	atoi int64 int float64 toDecimal split splitList splitn toStrings
	add1 add sub div mod mul add1f addf subf divf mulf biggest max min maxf minf ceil floor round
	join sortAlpha default empty coalesce all any compact mustCompact fromJson toJson toPrettyJson toRawJson mustFromJson
	mustToJson mustToPrettyJson mustToRawJson ternary deepCopy mustDeepCopy
	typeOf typeIs typeIsLike kindOf kindIs deepEqual base dir clean ext isAbs osBase osClean osDir osExt osIsAbs
	b64enc b64dec b32enc b32dec tuple list dict get unset hasKey pluck pick omit
	append push mustAppend mustPush prepend mustPrepend first mustFirst rest mustRest last mustLast initial mustInitial
	reverse mustReverse uniq mustUniq without mustWithout has mustHas slice mustSlice concat dig chunk mustChunk
	semver semverCompare fail
	regexMatch mustRegexMatch regexFindAll mustRegexFindAll regexFind mustRegexFind regexReplaceAll mustRegexReplaceAll
	regexReplaceAllLiteral mustRegexReplaceAllLiteral regexSplit mustRegexSplit regexQuoteMeta urlParse urlJoin`)

// cheap are the functions that look only at the top level of their arguments.
var cheap = names(`default empty coalesce all any ternary get hasKey dig first last mustFirst mustLast
	kindOf kindIs typeOf typeIs typeIsLike hello`)

// mutators change an argument; a template with one of them gets a copy of the object.
var mutators = names(`set unset merge mergeOverwrite mustMerge mustMergeOverwrite sortAlpha`)

func names(list string) map[string]bool {
	set := map[string]bool{}
	for _, name := range strings.Fields(list) {
		set[name] = true
	}
	return set
}

var sprigFuncs = sync.OnceValue(sprig.TxtFuncMap)

// pure are the functions that depend only on their arguments. Our own versions replace functions of
// sprig that read the map order, run without end or store their arguments.
var pure = sync.OnceValue(func() map[string]any {
	all := sprigFuncs()
	funcs := map[string]any{
		"print": fmt.Sprint, "println": fmt.Sprintln,
		"html": template.HTMLEscaper, "js": template.JSEscaper, "urlquery": template.URLQueryEscaper,
		"until": until, "untilStep": sequence, "seq": seq,
		"keys": keys, "values": values, "set": set,
		"toDate":     func(layout, s string) time.Time { t, _ := time.Parse(layout, s); return t },
		"mustToDate": time.Parse,
	}
	for name := range fromSprig {
		funcs[name] = all[name]
	}
	for name, mustName := range map[string]string{"merge": "mustMerge", "mergeOverwrite": "mustMergeOverwrite"} {
		merge := all[mustName].(func(map[string]any, ...map[string]any) (any, error))
		must := func(dst map[string]any, srcs ...map[string]any) (any, error) { return merge(dst, cloned(srcs)...) }
		funcs[mustName] = must
		funcs[name] = func(dst map[string]any, srcs ...map[string]any) any {
			merged, err := must(dst, srcs...)
			if err != nil {
				return ""
			}
			return merged
		}
	}
	return funcs
})

// set stores a copy, so that no value can contain itself.
func set(m map[string]any, key string, v any) map[string]any {
	m[key] = object.DeepCopy(v)
	return m
}

func cloned(maps []map[string]any) []map[string]any {
	out := make([]map[string]any, len(maps))
	for i, m := range maps {
		out[i] = object.CopyMap(m)
	}
	return out
}

func keys(dicts ...map[string]any) []string {
	list := []string{}
	for _, m := range dicts {
		list = append(list, slices.Sorted(maps.Keys(m))...)
	}
	return list
}

func values(m map[string]any) []any {
	list := make([]any, 0, len(m))
	for _, k := range keys(m) {
		list = append(list, m[k])
	}
	return list
}

func until(count int) []int { return sequence(0, count, cmp.Compare(count, 0)) }

// sequence counts from start up to stop, exclusive, and ends before an int overflows.
func sequence(start, stop, step int) []int {
	list := []int{}
	up, down := step > 0, step < 0
	for i := start; up && i < stop || down && i > stop; i += step {
		list = append(list, i)
		if up && i > math.MaxInt-step || down && i < math.MinInt-step {
			break
		}
	}
	return list
}

// seq prints the same as the command seq.
func seq(params ...int) string {
	return strings.Trim(fmt.Sprint(sequence(seqBounds(params))), "[]")
}

// seqBounds reads last; first and last; or first, step and last.
func seqBounds(params []int) (first, past, step int) {
	last, direction := 0, 1
	switch len(params) {
	case 1:
		first, last = 1, params[0]
	case 2:
		first, last = params[0], params[1]
	case 3:
		first, step, last = params[0], params[1], params[2]
	default:
		return 0, 0, 0
	}
	if last < first {
		direction = -1
	}
	if len(params) < 3 {
		step = direction
	}
	return first, last + direction, step
}
