package render_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/render"
)

const (
	grow  = `{{ $x := "0123456789" }}{{ range until 60 }}{{ $x = `
	share = `{{ $x := list 1 }}{{ range until 40 }}{{ $x = list $x $x }}{{ end }}`
)

// hostile templates would run for hours or fill the memory. Each must end with an error that
// errors.Is finds ErrLimit in.
var hostile = map[string]string{
	"a loop over a number":                   `{{ range 3000000000 }}{{ end }}`,
	"a loop in a loop":                       `{{ range 100000 }}{{ range 100000 }}{{ end }}{{ end }}`,
	"a loop over a made list":                `{{ range until 1000000000 }}x{{ end }}`,
	"untilStep":                              `{{ untilStep 0 -1000000000 -1 }}`,
	"seq":                                    `{{ seq 0 1000000000 }}`,
	"seq down":                               `{{ seq 3 -1 -1000000000 }}`,
	"repeat":                                 `{{ repeat 1000000000 "x" }}`,
	"indent":                                 `{{ indent 1000000000 "x" }}`,
	"nindent":                                `{{ nindent 1000000000 "x" }}`,
	"YAML indented":                          `{{ YAML .spec 1000000000 }}`,
	"random text":                            `{{ randAlpha 1000000000 }}`,
	"random bytes":                           `{{ randBytes 1000000000 }}`,
	"a template that calls itself":           `{{ define "a" }}{{ template "a" }}{{ end }}{{ template "a" }}`,
	"the whole that calls itself":            `{{ if true }}{{ template "_" . }}{{ end }}`,
	"text doubled by printf":                 grow + `printf "%s%s" $x $x }}{{ end }}`,
	"text doubled by an argument's index":    grow + `printf "%[1]s%[1]s" $x }}{{ end }}`,
	"text doubled by print":                  grow + `print $x $x }}{{ end }}`,
	"text doubled by println":                grow + `println $x $x }}{{ end }}`,
	"text doubled by cat":                    grow + `cat $x $x }}{{ end }}`,
	"text doubled by join":                   grow + `list $x $x | join "" }}{{ end }}`,
	"text doubled by join's separator":       grow + `list "" "" "" | join $x }}{{ end }}`,
	"text doubled by replace":                grow + `replace "0" $x $x }}{{ end }}`,
	"text doubled by a regex":                grow + `regexReplaceAll "0" $x $x }}{{ end }}`,
	"text doubled by quote":                  grow + `quote $x $x }}{{ end }}`,
	"text doubled by Quote":                  grow + `Quote (list $x $x) }}{{ end }}`,
	"text doubled by YAML":                   grow + `YAML (list $x $x) }}{{ end }}`,
	"text doubled by html":                   grow + `html $x $x }}{{ end }}`,
	"text doubled by b64enc":                 grow + `b64enc (b64enc (b64enc $x)) }}{{ end }}`,
	"text doubled by wrapWith":               grow + `wrapWith 1 $x $x }}{{ end }}`,
	"text of a large precision":              `{{ range 1000 }}{{ $x := printf "%.999999d%.999999d" 1 1 }}{{ end }}`,
	"text of a large width":                  `{{ range 1000 }}{{ $x := printf "%*d" 999999 1 }}{{ end }}`,
	"a list shared by list":                  share + `{{ $x }}`,
	"a list shared by dict":                  strings.ReplaceAll(share, "list $x $x", `dict "a" $x "b" $x`) + `{{ $x }}`,
	"a list shared by append":                strings.ReplaceAll(share, "list $x $x", `append (list $x) $x`) + `{{ $x }}`,
	"a list doubled by concat":               strings.ReplaceAll(share, "list $x $x", `concat $x $x`),
	"a map grown under a list":               `{{ $d := dict }}{{ $l := list $d }}{{ range until 12 }}{{ $l = list $l $l }}{{ end }}{{ $_ := set $d "x" (until 1000) }}{{ $l }}`,
	"a map that contains itself":             `{{ $d := dict }}{{ $_ := set $d "x" (chunk 1 (list $d)) }}{{ $d }}`,
	"long texts that are compared":           `{{ $x := repeat 400000 "a" }}{{ $y := repeat 400000 "a" }}{{ range 40000 }}{{ if eq $x $y }}{{ end }}{{ end }}`,
	"long texts that are compared in a pipe": `{{ $x := repeat 400000 "a" }}{{ $y := repeat 400000 "a" }}{{ range 40000 }}{{ if $x | lt $y }}{{ end }}{{ end }}`,
	"long keys":                              `{{ $x := repeat 400000 "a" }}{{ range 40000 }}{{ if index $.spec $x }}{{ end }}{{ end }}`,
	"long keys in a pipe":                    `{{ $x := repeat 400000 "a" }}{{ range 40000 }}{{ if $x | index $.spec }}{{ end }}{{ end }}`,
	"long keys of get":                       `{{ $x := repeat 400000 "a" }}{{ range 40000 }}{{ if get $.spec $x }}{{ end }}{{ end }}`,
	"long keys of dig":                       `{{ $x := repeat 400000 "a" }}{{ range 40000 }}{{ if dig $x "" $.spec }}{{ end }}{{ end }}`,
	"a map sorted for nothing":               `{{ $m := split "" (repeat 5000 "x") }}{{ range 40000 }}{{ range $m }}{{ break }}{{ end }}{{ end }}`,
	"uniq":                                   `{{ $x := until 100000 | uniq }}`,
	"a slow regex":                           `{{ $s := repeat 100000 "x" }}{{ regexFindAll "(x{0,500}y|x{0,500}z)*" $s -1 }}`,
	"output in a loop":                       `{{ range 100000 }}0123456789012345678901234567890123456789{{ end }}`,
	"many addresses":                         `{{ range 100000 }}{{ $x := PodIPWith "n" false (print .) "" "" }}{{ end }}`,
}

func TestHostile(t *testing.T) {
	for name, text := range hostile {
		t.Run(name, func(t *testing.T) {
			tmpl := compile(t, text, render.Options{Steps: 100_000})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := tmpl.Text(render.Input{Object: pod(), Env: render.NewNetwork(render.NetworkOptions{})})
			runtime.ReadMemStats(&after)
			require.ErrorIs(t, err, render.ErrLimit)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20))
		})
	}
}

func TestHostileValues(t *testing.T) {
	laughs := "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
	for i := range 9 {
		laughs += strings.NewReplacer("N", string(rune('1'+i)), "P", string(rune('0'+i))).Replace("aN: &aN [*aP,*aP,*aP,*aP,*aP,*aP,*aP,*aP,*aP]\n")
	}
	for name, text := range map[string]string{
		"aliases of aliases":      laughs,
		"aliases of a long text":  `a: &a ` + strings.Repeat("x", 100_000) + "\nb: [" + strings.Repeat("*a,", 100_000) + "]",
		"an alias within itself":  `a: &a [*a]`,
		"lists nested deeply":     strings.Repeat("[", 500_000),
		"lists nested in a block": strings.Repeat("- ", 500_000),
		"maps nested deeply":      strings.Repeat("{a: ", 200_000),
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := compile(t, text, render.Options{}).Value(render.Input{})
			var fault *render.Error
			require.ErrorAs(t, err, &fault)
			require.Less(t, len(err.Error()), 1000)
		})
	}
}

func TestOutputLimit(t *testing.T) {
	big := map[string]any{"text": strings.Repeat("x", 10<<20)}
	_, err := compile(t, `{{ . }}`, render.Options{}).Text(render.Input{Object: big})
	require.ErrorIs(t, err, render.ErrLimit)
	require.EqualError(t, err, "needs more than 1048576 bytes of output")
	_, err = compile(t, `{{ . }}`, render.Options{Output: 20 << 20}).Text(render.Input{Object: big})
	require.NoError(t, err)
}
