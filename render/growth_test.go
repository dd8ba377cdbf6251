package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/dev/effort"
	"github.com/stagecraft-go/stagecraft/internal/dev/race"
	"github.com/stagecraft-go/stagecraft/internal/dev/work"
)

// operations are calls of each function of templates and of each form of templates, on texts s, u
// and k that are long, lists l, m and t, objects o and p and a deep list d. Their results do not
// matter.
var operations = map[string][]string{
	"{{": {`.s`, `.o`, `.l`, `.d`, `"x"`}, "range": {`range .l }}{{ end`, `range .o }}{{ end`, `range .l }}{{ break }}{{ end`, `range .o }}{{ break }}{{ end`, `range 10 }}{{ end`}, "if": {`if .s }}{{ end`},
	"and": {`and .s .l`}, "or": {`or .s .l`}, "not": {`not .o`}, "call": {`len .s`}, "len": {`len .s`, `len .o`}, "eq": {`eq .s .u`, `eq .s .u .u .u`}, "ne": {`ne .s .u`}, "lt": {`lt .s .u`}, "le": {`le .s .u`},
	"gt": {`gt .s .u`}, "ge": {`ge .s .u`}, "index": {`index .o .k`, `index .l 3`}, "slice": {`slice .l 1`, `slice .l 1 2`}, "print": {`print .s`, `print .o`}, "println": {`println .s`},
	"printf": {`printf "%s" .s`, `printf "%q" .s`, `printf "%+q" .s`, `printf "%x" .s`, `printf "% x" .s`, `printf "%#v" .o`, `printf "%v" .o`, `printf "%999999d" 1`, `printf "%.999999f" 1.5`, `printf "%U" .l`, `printf "%[1]s%[1]s%[1]s" .s`, `printf .s`, `printf .s 1 2`, `printf "%*d" 999999 1`},
	"html":   {`html .s`, `html .o`}, "js": {`js .s`}, "urlquery": {`urlquery .s`}, "Quote": {`Quote .s`, `Quote .o`}, "YAML": {`YAML .s`, `YAML .o`, `YAML .o 3`, `YAML .d`, `YAML .d 9`},
	"abbrev": {`abbrev 5 .s`, `abbrev 500 .s`}, "abbrevboth": {`abbrevboth 5 50 .s`}, "trunc": {`trunc 5 .s`, `trunc -5 .s`}, "trim": {`trim .spaces`, `trim .s`}, "upper": {`upper .s`}, "lower": {`lower .s`},
	"title": {`title .s`}, "untitle": {`untitle .s`}, "substr": {`substr 1 5 .s`}, "repeat": {`repeat 3 .s`, `repeat 0 .s`}, "trimall": {`trimall "b" .s`, `trimall .u .s`, `trimall .s .short`}, "trimAll": {`trimAll .u .s`},
	"trimSuffix": {`trimSuffix "b" .s`, `trimSuffix .u .s`}, "trimPrefix": {`trimPrefix .u .s`}, "nospace": {`nospace .spaces`, `nospace .s`}, "initials": {`initials .s`, `initials .words`}, "swapcase": {`swapcase .s`},
	"snakecase": {`snakecase .s`, `snakecase .words`}, "camelcase": {`camelcase .s`, `camelcase .words`}, "kebabcase": {`kebabcase .words`, `kebabcase .s`}, "wrap": {`wrap 1 .s`, `wrap 1 .words`, `wrap 80 .words`}, "wrapWith": {`wrapWith 1 "\t" .words`, `wrapWith 1 .u .short`},
	"contains": {`contains "b" .s`, `contains .k .s`}, "hasPrefix": {`hasPrefix .u .s`}, "hasSuffix": {`hasSuffix .u .s`}, "quote": {`quote .s`, `quote .l`}, "squote": {`squote .s`}, "cat": {`cat .s .s`, `cat .o`},
	"indent": {`indent 3 .s`, `indent 3 .lines`}, "nindent": {`nindent 3 .lines`}, "replace": {`replace "a" "bb" .s`, `replace "" "-" .s`, `replace .k .k .s`}, "plural": {`plural "a" .s 3`}, "sha1sum": {`sha1sum .s`}, "sha256sum": {`sha256sum .s`},
	"sha512sum": {`sha512sum .s`}, "adler32sum": {`adler32sum .s`}, "toString": {`toString .s`, `toString .o`}, "atoi": {`atoi .s`, `atoi .digits`}, "int64": {`int64 .s`, `int64 .digits`}, "int": {`int .digits`}, "float64": {`float64 .digits`, `float64 .s`},
	"toDecimal": {`toDecimal .digits`, `toDecimal .s`}, "split": {`split "a" .s`, `split "" .s`}, "splitList": {`splitList "" .s`, `splitList "a" .s`}, "splitn": {`splitn "" 3 .s`, `splitn "a" 3 .s`, `splitn "" 100000 .s`}, "toStrings": {`toStrings .l`, `toStrings .o`},
	"add1": {`add1 .digits`}, "add": {`add .digits 1`}, "sub": {`sub 1 .digits`}, "div": {`div 1 3`}, "mod": {`mod 7 3`}, "mul": {`mul .digits 2`}, "add1f": {`add1f .digits`}, "addf": {`addf .digits 1`, `addf 1e308 1e-300`}, "subf": {`subf 1e308 1e-300`},
	"divf": {`divf 1e300 3e-300`, `divf 1 .digits`}, "mulf": {`mulf 1e308 1e-300`}, "biggest": {`biggest .digits 3`}, "max": {`max 1 2`}, "min": {`min 1 2`}, "maxf": {`maxf 1 .digits`}, "minf": {`minf 1 2`}, "ceil": {`ceil .digits`}, "floor": {`floor .digits`},
	"round": {`round .digits 300`, `round 1.5 300`, `round 1.5 100000000`}, "join": {`join "-" .t`, `join .u .few`}, "sortAlpha": {`sortAlpha .t`, `sortAlpha .l`}, "default": {`default .s .u`, `default .o .p`}, "empty": {`empty .o`},
	"coalesce": {`coalesce .s .u`}, "all": {`all .s .u`}, "any": {`any .s .u`}, "compact": {`compact .l`, `compact .t`}, "mustCompact": {`mustCompact .l`}, "fromJson": {`fromJson .json`, `fromJson .s`}, "mustFromJson": {`mustFromJson .json`},
	"toJson": {`toJson .s`, `toJson .o`}, "toPrettyJson": {`toPrettyJson .o`, `toPrettyJson .d`}, "toRawJson": {`toRawJson .s`}, "mustToJson": {`mustToJson .o`}, "mustToPrettyJson": {`mustToPrettyJson .d`}, "mustToRawJson": {`mustToRawJson .o`},
	"ternary": {`ternary .s .u true`}, "deepCopy": {`deepCopy .o`, `deepCopy .d`}, "mustDeepCopy": {`mustDeepCopy .o`}, "typeOf": {`typeOf .o`}, "typeIs": {`typeIs .s .o`}, "typeIsLike": {`typeIsLike .s .o`}, "kindOf": {`kindOf .o`}, "kindIs": {`kindIs .s .o`},
	"deepEqual": {`deepEqual .o .p`, `deepEqual .s .u`, `deepEqual .t .t`}, "base": {`base .s`, `base .paths`}, "dir": {`dir .paths`}, "clean": {`clean .paths`}, "ext": {`ext .s`}, "isAbs": {`isAbs .s`}, "osBase": {`osBase .paths`}, "osClean": {`osClean .paths`},
	"osDir": {`osDir .paths`}, "osExt": {`osExt .s`}, "osIsAbs": {`osIsAbs .s`}, "b64enc": {`b64enc .s`}, "b64dec": {`b64dec .s`}, "b32enc": {`b32enc .s`}, "b32dec": {`b32dec .s`}, "tuple": {`tuple .s .o`}, "list": {`list .s .o`}, "dict": {`dict .s .o`, `dict .k 1`},
	"get": {`get .o .k`}, "set": {`set (dict) .k .o`, `set (dict) "a" .d`}, "unset": {`unset (dict) .k`}, "hasKey": {`hasKey .o .k`}, "pluck": {`pluck .k .o .p`}, "keys": {`keys .o`, `keys .o .p`}, "values": {`values .o`}, "pick": {`pick .o .k`}, "omit": {`omit .o .k`},
	"merge": {`merge (dict) .o`}, "mustMerge": {`mustMerge (dict) .o`}, "mergeOverwrite": {`mergeOverwrite (dict) .o`}, "mustMergeOverwrite": {`mustMergeOverwrite (dict) .o`}, "append": {`append .l 1`}, "push": {`push .l 1`}, "mustAppend": {`mustAppend .l 1`},
	"mustPush": {`mustPush .l 1`}, "prepend": {`prepend .l 1`}, "mustPrepend": {`mustPrepend .l 1`}, "first": {`first .l`}, "mustFirst": {`mustFirst .l`}, "rest": {`rest .l`}, "mustRest": {`mustRest .l`}, "last": {`last .l`}, "mustLast": {`mustLast .l`},
	"initial": {`initial .l`}, "mustInitial": {`mustInitial .l`}, "reverse": {`reverse .l`}, "mustReverse": {`mustReverse .l`}, "uniq": {`uniq .l`, `uniq .t`, `uniq .same`}, "mustUniq": {`mustUniq .t`}, "without": {`without .l 1`, `without .t "x"`, `without .few .s`}, "mustWithout": {`mustWithout .t "x"`},
	"has": {`has 1 .l`, `has .s .t`, `has .o .same`}, "mustHas": {`mustHas 1 .l`}, "mustSlice": {`mustSlice .l 1`}, "concat": {`concat .l .m`}, "dig": {`dig .k "" .o`, `dig "a" "b" .k "" .o`}, "chunk": {`chunk 1 .l`, `chunk 3 .l`}, "mustChunk": {`mustChunk 1 .l`},
	"semver": {`semver .digits`, `semver .s`, `semver .version`}, "semverCompare": {`semverCompare .s "1.0.0"`, `semverCompare .constraint "0.0.1"`, `semverCompare ">=1.0.0" .version`}, "fail": {`fail .s`},
	"regexMatch": {`regexMatch "(a{0,9})+c" .s`, `regexMatch .s "a"`, `regexMatch "b$" .s`}, "mustRegexMatch": {`mustRegexMatch "b$" .s`}, "regexFind": {`regexFind "a.*b|a" .s`}, "mustRegexFind": {`mustRegexFind "b$" .s`},
	"regexFindAll": {`regexFindAll "a.*b|a" .short -1`, `regexFindAll "" .s -1`}, "mustRegexFindAll": {`mustRegexFindAll "a" .short -1`}, "regexReplaceAll": {`regexReplaceAll "a.*b|a" .short "x"`, `regexReplaceAll "" .s "xx"`}, "mustRegexReplaceAll": {`mustRegexReplaceAll "a" .short .short`},
	"regexReplaceAllLiteral": {`regexReplaceAllLiteral "a" .short "x"`}, "mustRegexReplaceAllLiteral": {`mustRegexReplaceAllLiteral "a" .short "x"`}, "regexSplit": {`regexSplit "a" .short -1`, `regexSplit "" .s -1`}, "mustRegexSplit": {`mustRegexSplit "a" .short -1`},
	"regexQuoteMeta": {`regexQuoteMeta .s`}, "urlParse": {`urlParse .s`, `urlParse .url`}, "urlJoin": {`urlJoin (dict "host" .k "path" .k)`}, "toDate": {`toDate "2006" .s`, `toDate .s "2006"`}, "mustToDate": {`mustToDate "2006" .s`},
	"dateModify": {`dateModify "1h" now`, `dateModify .s now`}, "date_modify": {`date_modify .s now`}, "must_date_modify": {`must_date_modify .s now`}, "mustDateModify": {`mustDateModify .digits now`}, "duration": {`duration .digits`, `duration .s`, `duration 99`}, "unixEpoch": {`unixEpoch now`},
	"until": {`until 100`, `until -100`}, "untilStep": {`untilStep 0 100 3`}, "seq": {`seq 100`, `seq 1 2 100`}, "hello": {`hello`},
	"now": {`now`}, "ago": {`ago now`, `ago 5`}, "date": {`date "2006-01-02" now`, `date .s now`, `date "Monday" 5`}, "dateInZone": {`dateInZone "2006" now "Europe/Berlin"`, `dateInZone "2006" now .s`, `dateInZone "2006" now "nowhere"`}, "date_in_zone": {`date_in_zone "2006" now "nowhere"`},
	"durationRound": {`durationRound 9999999999`, `durationRound .s`, `durationRound now`}, "htmlDate": {`htmlDate now`}, "htmlDateInZone": {`htmlDateInZone now "Europe/Berlin"`}, "randAlpha": {`randAlpha 100`}, "randAlphaNum": {`randAlphaNum 100`}, "randAscii": {`randAscii 1000`},
	"randBytes": {`randBytes 1000`}, "randInt": {`randInt 1 2`}, "randNumeric": {`randNumeric 1000`}, "shuffle": {`shuffle .s`}, "uuidv4": {`uuidv4`},
	"Now": {`Now`}, "StartTime": {`StartTime`}, "Version": {`Version`}, "NodeConditions": {`NodeConditions`}, "NodeIP": {`NodeIP`}, "NodeName": {`NodeName`}, "NodePort": {`NodePort`}, "NodeIPWith": {`NodeIPWith .s`}, "NodeIPsWith": {`NodeIPsWith .s`},
	"PodIP": {`PodIP`}, "PodIPWith": {`PodIPWith .s false .s .s .s`}, "PodIPsWith": {`PodIPsWith .s true .s .s .s`},
}

// TestEveryFunctionIsMeasured takes all functions that a template may call. A function
// that a new version of sprig has is not among them until somebody allows it.
func TestEveryFunctionIsMeasured(t *testing.T) {
	names := slices.Concat(slices.Collect(maps.Keys(pure())), slices.Collect(maps.Keys(seeded)), slices.Collect(maps.Keys(own)), slices.Collect(maps.Keys(builtins)))
	require.Greater(t, len(names), 200)
	for _, name := range names {
		require.NotEmpty(t, operations[name], name)
	}
}

func grown(n int, char string) map[string]any {
	if char == `\xff` {
		char = "\xff"
	}
	s := strings.Repeat(char, 50*n)
	o, p := map[string]any{}, map[string]any{}
	var l, m, names, same []any
	for i := range n {
		l, m = append(l, int64(i*7919%n)), append(m, int64(i*7919%n))
		names = append(names, strings.Repeat(char, 9)+string(rune('b'+i%20)))
		same = append(same, s[:9*len(char)])
		key := strings.Repeat("a", 1+i/20%50) + fmt.Sprint(i)
		o[key], p[key] = int64(i), int64(i)
	}
	var deep any = int64(1)
	for range min(n/4, 200) {
		deep = []any{deep, int64(1)}
	}
	return map[string]any{"s": s, "u": strings.Clone(s), "k": s + "k", "short": s[:n/20*len(char)], "o": o, "p": p, "l": l, "m": m, "t": names, "same": same, "d": deep, "few": []any{"a", "b", "c"},
		"spaces": strings.Repeat(" ", 50*n), "words": strings.Repeat(char+" ", 25*n), "lines": strings.Repeat(char+"\n", 25*n), "digits": strings.Repeat("9", 50*n),
		"paths": strings.Repeat("a/../", 10*n), "url": "http://a/" + s + "?" + s, "version": "1.0.0-" + strings.Repeat("a.", 25*n) + "a", "constraint": strings.Repeat(">=1.0.0 || ", 5*n) + "2.0.0",
		"json": "[" + strings.Repeat(`"`+char+`",1,`, n) + `{"a":[]}]`}
}

// The bounds are those of a step on the machine on which this was written.
const (
	timeOfStep  = 800 * time.Nanosecond
	bytesOfStep = 640
)

func requireBounded(t *testing.T, source string, obj map[string]any) {
	t.Helper()
	spent, steps := evaluated(source, obj, 2)
	require.NotZero(t, steps, source)
	perStep, allocated := float64(spent.Time)/steps, float64(spent.Bytes)/steps
	t.Logf("%7.0f ns and %6.0f bytes a step, of %.0f: %.90s", perStep, allocated, steps, source)
	require.LessOrEqual(t, allocated, float64(bytesOfStep), source)
	require.LessOrEqual(t, perStep, float64(work.Slack*timeOfStep), source)
}

// TestWorkGrowsNoFasterThanItsCharge renders every operation on texts of characters of one, two and
// three bytes, and of bytes that are no character.
func TestWorkGrowsNoFasterThanItsCharge(t *testing.T) {
	if race.On {
		t.Skip("it would measure the race detector")
	}
	for _, char := range effort.Some(chars) {
		for _, n := range []int{20, 600} {
			obj := grown(n, char)
			for _, name := range slices.Sorted(maps.Keys(operations)) {
				for _, source := range operations[name] {
					requireBounded(t, source, obj)
				}
			}
		}
	}
}
