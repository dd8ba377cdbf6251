package bench

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"

	"sigs.k8s.io/kwok/pkg/utils/gotpl"

	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// patches are the patches that kwok makes of a Stage; the legacy status template is one of them.
func patches(st *v1alpha1.Stage) (all []v1alpha1.StagePatch) {
	for _, step := range st.Spec.Steps {
		if step.Patch != nil {
			all = append(all, *step.Patch)
		}
	}
	if n := st.Spec.Next; n != nil && len(st.Spec.Steps) == 0 {
		all = append(all, n.Patches...)
		if len(n.Patches) == 0 {
			all = append(all, v1alpha1.StagePatch{Root: "status", Template: n.StatusTemplate})
		}
	}
	return all
}

func templates(st *v1alpha1.Stage) (texts []string) {
	for _, p := range patches(st) {
		texts = append(texts, p.Template)
	}
	for _, step := range st.Spec.Steps {
		if step.Apply != nil {
			texts = append(texts, step.Apply.Template)
		}
	}
	return texts
}

func (s situation) anyPatch(is func(v1alpha1.StagePatch) bool) bool {
	return slices.ContainsFunc(patches(s.of()), is)
}

func (s situation) anyTemplate(is func(string) bool) bool {
	return slices.ContainsFunc(s.scope(), func(st *v1alpha1.Stage) bool { return slices.ContainsFunc(templates(st), is) })
}

func badTemplate(st *v1alpha1.Stage) bool {
	return slices.ContainsFunc(templates(st), func(text string) bool {
		tree := parse.New("_")
		tree.Mode = parse.SkipFuncCheck
		_, err := tree.Parse(text, "", "", map[string]*parse.Tree{})
		return err != nil
	})
}

var environment = regexp.MustCompile(`\b(env|expandenv)\b`)

// uselessResult is our word for a CEL expression whose types can never do; kwok fails on every
// object.
var uselessResult = regexp.MustCompile(`found no matching overload for '_(<|>|<=|>=)_' applied to '.*(list|map)\(|the result is (string|bool|kubernetes.Quantity|list\(.*\)|map\(.*\)|type\(.*\)), not`)

func readsEnvironment(text string) bool { return environment.MatchString(text) }

func movesBelowRoot(p v1alpha1.StagePatch) bool {
	return p.Type != nil && *p.Type == v1alpha1.StagePatchTypeJSONPatch && p.Root != "" && strings.Contains(p.Template, "from:")
}

func (s situation) rendersNothing(text string) bool {
	out, err := gotpl.NewRenderer(Placeholders()).ToText(text, s.Object)
	return err == nil && blank(string(out))
}

func blank(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return false
		}
	}
	return true
}

// readsNumbers reports whether a template renders otherwise when numbers are numbers.
func (s situation) readsNumbers(text string) bool {
	kwok, err := gotpl.NewRenderer(Placeholders()).ToText(text, s.Object)
	native, nativeErr := renderNative(text, s.Object)
	return (err == nil) != (nativeErr == nil) || err == nil && string(kwok) != native
}

// renderNative is kwok's rendering, except for numbers.
func renderNative(text string, obj map[string]any) (string, error) {
	funcs := maps.Clone(Placeholders())
	funcs["Quote"] = func(v any) string {
		data, _ := json.Marshal(v) // JSON values always do
		if _, ok := v.(string); ok {
			return string(data)
		}
		return strconv.Quote(string(data))
	}
	funcs["YAML"] = func(v any, indent ...int) string {
		data, _ := yaml.Marshal(v)
		if len(indent) != 1 || indent[0] <= 0 {
			return string(data)
		}
		return strings.ReplaceAll("\n"+string(data), "\n", "\n"+strings.Repeat("  ", indent[0]))
	}
	conditions, _ := gotpl.NewRenderer(nil).ToJSON("{{ NodeConditions | toJson }}", nil)
	funcs["NodeConditions"] = func() (v any, err error) { return v, json.Unmarshal(conditions, &v) }
	t, err := template.New("_").Funcs(sprig.TxtFuncMap()).Funcs(funcs).Parse(strings.TrimSpace(text))
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = t.Execute(&out, obj)
	return out.String(), err
}
