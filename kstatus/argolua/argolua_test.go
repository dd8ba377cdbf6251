package argolua_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/argolua"
)

var now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

const ovenScript = `
local hs = {status = "Progressing", message = "at " .. tostring(obj.status.temperature)}
if obj.status.temperature >= obj.spec.temperature then
  hs.status = "Healthy"
end
return hs
`

func Example() {
	customizations := fstest.MapFS{"example.com/Oven/health.lua": {Data: []byte(ovenScript)}}
	rules, err := argolua.Load(customizations)
	if err != nil {
		fmt.Println(err)
		return
	}
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Oven",
		"spec": map[string]any{"temperature": int64(220)}, "status": map[string]any{"temperature": int64(90)},
	}}
	profile := kstatus.Extended().With(rules)
	fmt.Println(profile.Compute(obj, now))
	obj.Object["status"] = map[string]any{"temperature": int64(220)}
	fmt.Println(profile.Compute(obj, now))
	// Output:
	// InProgress Progressing: at 90
	// Current: at 220
}

// judge runs a script as a rule on an empty Widget.
func judge(t *testing.T, script string, o argolua.Options) kstatus.Result {
	t.Helper()
	s, err := argolua.Compile("health.lua", script, o)
	require.NoError(t, err)
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "text": strings.Repeat("a", 20_000), "again": strings.Repeat("a", 20_000),
		"list": []any{int64(1), "two", true, nil, 2.5}, "status": map[string]any{"phase": "Running"},
	}}
	before := obj.DeepCopy()
	r := kstatus.Extended().With(argolua.Rules{{Group: "example.com", Kind: "Widget"}: s.Rule}).Compute(obj, now)
	require.Equal(t, before, obj, "the object stays as it is")
	return r
}

func TestResults(t *testing.T) {
	for script, want := range map[string]string{
		`return {status = "Healthy", message = "fine"}`: "Current: fine",
		`return {status = "Progressing"}`:               "InProgress Progressing",
		`return {status = "Degraded", message = "x"}`:   "Failed Degraded: x",
		`return {status = "Suspended"}`:                 "Current Suspended",
		`return {status = "Missing"}`:                   "InProgress Missing",
		`return {status = "Unknown"}`:                   "Unknown HealthUnknown",
		`return {}`:                                     "Current: phase is Running",
		`return nil`:                                    "Current: phase is Running",
		``:                                              "Current: phase is Running",
		`return {status = "Fine"}`:                      `Unknown ScriptFailed: the script returned the status "Fine"`,
		`return "Healthy"`:                              "Unknown ScriptFailed: the script returned a string, and not a table",
		`return obj.none.none`:                          "Unknown ScriptFailed: health.lua:1: attempt to index a non-table object(nil) with key 'none'",
		`error("no")`:                                   "Unknown ScriptFailed: health.lua:1: no",
		`return {status = "Healthy", message = obj.list[2]}`:   "Current: two",
		`return {status = "Healthy", message = #obj.list}`:     "Current: 4",
		`return {status = "Healthy", message = os.time()}`:     "Current: 1767225600",
		`return {status = "Healthy", message = "a" .. 1 .. 2}`: "Current: a12",
	} {
		require.Equal(t, want, judge(t, script, argolua.Options{}).String(), script)
	}
	require.True(t, judge(t, `return {status = "Suspended"}`, argolua.Options{}).Suspended)
	require.Equal(t, kstatus.BasisKind, judge(t, `return {status = "Healthy"}`, argolua.Options{}).Basis)
}

// TestNothingOutside: what reaches out of the script, or around its limits, is not there.
func TestNothingOutside(t *testing.T) {
	for _, name := range []string{
		"io", "debug", "coroutine", "package", "require", "module", "load", "loadstring", "loadfile", "dofile", "print",
		"collectgarbage", "setmetatable", "getmetatable", "rawset", "rawget", "rawequal", "setfenv", "getfenv", "unpack", "select",
		"newproxy", "xpcall", "_G", "_printregs", "os.execute", "os.getenv", "os.exit", "os.clock", "os.date", "os.remove", "string.dump",
		"string.gmatch", "string.reverse", "string.char", "math.random", "math.randomseed",
	} {
		r := judge(t, `return {status = "Healthy", message = type(`+name+`)}`, argolua.Options{})
		require.Equal(t, "Current: nil", r.String(), name)
	}
}

// TestHostileScripts end at a limit, and soon.
func TestHostileScripts(t *testing.T) {
	for name, script := range map[string]string{
		"a loop":                       `while true do end`,
		"a loop that is protected":     `while true do pcall(function() while true do end end) end`,
		"a text that doubles":          `local s = "a"; while true do s = s .. s end`,
		"a text that doubles in calls": `local s = "a"; while true do s = table.concat({s, s}) end`,
		"repetition":                   `return {message = string.rep("a", 1e9)}`,
		"repetition of nothing":        `while true do string.rep("", 1e9) end`,
		"repetition, negative":         `while true do string.rep("a", -1) end`,
		"a format":                     `return {message = string.format("%999999999d", 1)}`,
		"a format, often":              `while true do string.format("%s", obj.text) end`,
		"recursion":                    `local function f() return 1 + f() end; f()`,
		"recursion at the end":         `local function f() return f() end; f()`,
		"a pattern":                    `return {message = string.find(obj.text, ".*.*.*.*b")}`,
		"a pattern, lazy":              `return {message = string.find(obj.text, ".-.-.-.-b")}`,
		"a pattern, optional":          `return {message = string.match(obj.text, string.rep("a?", 30) .. string.rep("a", 30) .. "b")}`,
		"a pattern, deep":              `return {message = string.match(obj.text, string.rep("(", 40))}`,
		"replacement":                  `local s = obj.text; while true do s = string.gsub(s, "a", "aaaa") end`,
		"comparison, often":            `while obj.text == obj.again do end`,
		"insertion in front":           `local t = {}; while true do table.insert(t, 1, 1) end`,
		"removal in front":             `local t = {}; for i = 1, 20000 do t[i] = i end; while #t > 0 do table.remove(t, 1) end; while true do end`,
		"sorting":                      `local t = {}; for i = 1, 10000 do t[i] = -i end; while true do table.sort(t) end`,
		"a table of all":               `local t = {}; local i = 0; while true do i = i + 1; t[i] = {} end`,
		"joining":                      `local t = {}; for i = 1, 10000 do t[i] = obj.text end; return {message = table.concat(t)}`,
		"joining nothing":              `return {message = table.concat({}, "", 1, 1e9)}`,
		"many arguments":               `local function f(...) return f(1, ...) end; f()`,
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			r := judge(t, script, argolua.Options{})
			require.Equal(t, "ScriptFailed", r.Reason, r.String())
			require.Less(t, time.Since(began), 2*time.Second)
			require.Equal(t, r, judge(t, script, argolua.Options{}), "the same point on every run")
		})
	}
}

func TestLimitsCanBeSet(t *testing.T) {
	const counts = `for i = 1, 1000 do end; return {status = "Healthy"}`
	require.Equal(t, kstatus.Current, judge(t, counts, argolua.Options{}).Status)
	require.Equal(t, "Unknown ScriptFailed: the script takes too many steps", judge(t, counts, argolua.Options{Steps: 100}).String())
	require.Equal(t, "Unknown ScriptFailed: the script makes too many bytes of strings",
		judge(t, `return {status = "Healthy", message = string.rep("a", 100)}`, argolua.Options{Bytes: 50}).String())
	_, err := argolua.Compile("x", "", argolua.Options{Steps: -1})
	require.ErrorContains(t, err, "negative")
}

func TestFaultsOfFiles(t *testing.T) {
	_, err := argolua.Load(fstest.MapFS{
		"a.example.com/A/health.lua":  {Data: []byte("return {\n  status = \n}")},
		"b.example.com/B/health.lua":  {Data: []byte("if")},
		"health.lua":                  {Data: []byte("")},
		"c_.example.com/C/health.lua": {Data: []byte("")},
		"_c.example.com/C/health.lua": {Data: []byte("")},
	})
	for _, fault := range []string{
		"a.example.com/A/health.lua:3:1: ", "b.example.com/B/health.lua:", "health.lua: it is not in a directory GROUP/KIND",
		"c_.example.com/C/health.lua: an underscore stands for", "_c.example.com/C/health.lua: an underscore stands for",
	} {
		require.ErrorContains(t, err, fault)
	}
	_, err = argolua.Load(fstest.MapFS{"x/README.md": {}})
	require.ErrorContains(t, err, "there is no script GROUP/KIND/health.lua")
	_, err = argolua.Load(broken{})
	require.ErrorIs(t, err, errBroken)
}

var errBroken = errors.New("broken")

type broken struct{}

func (broken) Open(string) (fs.File, error) { return nil, errBroken }

func TestWildcards(t *testing.T) {
	scripts, err := argolua.LoadScripts(fstest.MapFS{
		"resource_customizations/_.example.com/_/health.lua": {}, "apps/Deployment/health.lua": {}, "apps/Deployment/actions/x/action.lua": {},
	}, argolua.Options{})
	require.NoError(t, err)
	require.Len(t, scripts, 2)
	require.Contains(t, scripts, schema.GroupKind{Group: "*.example.com", Kind: "*"})
	require.Contains(t, scripts, schema.GroupKind{Group: "apps", Kind: "Deployment"})
}

func BenchmarkRule(b *testing.B) {
	s, err := argolua.Compile("health.lua", ovenScript, argolua.Options{})
	require.NoError(b, err)
	obj := map[string]any{"spec": map[string]any{"temperature": int64(220)}, "status": map[string]any{"temperature": int64(90)}}
	b.ReportAllocs()
	for b.Loop() {
		_, err = s.Health(obj, now)
	}
	require.NoError(b, err)
}
