package patch_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/stagecraft-go/stagecraft/internal/patch"
	"github.com/stretchr/testify/require"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

func ExampleStrategic() {
	schema, _ := patch.SchemaFor("", "v1", "Pod")
	pod := object(`{"status": {"conditions": [{"type": "Ready", "status": "False"}, {"type": "Initialized", "status": "True"}]}}`)
	body := object(`{"status": {"conditions": [{"type": "Ready", "status": "True"}]}}`)

	out, _ := patch.Strategic(schema, pod, body)
	fmt.Println(text(out))
	// Output:
	// {"status":{"conditions":[{"status":"True","type":"Ready"},{"status":"True","type":"Initialized"}]}}
}

func ExampleJSON() {
	_, err := patch.JSON(object(`{"a": [1]}`), []any{map[string]any{"op": "remove", "path": "/a/3"}})
	fmt.Println(err)
	// Output: operation 0: "/a/3": no such list index
}

func TestMerge(t *testing.T) {
	for name, c := range map[string]struct{ target, patch, want string }{
		"members merge":                     {`{"a":{"b":1,"c":2}}`, `{"a":{"b":3}}`, `{"a":{"b":3,"c":2}}`},
		"null removes":                      {`{"a":1,"b":2}`, `{"a":null,"x":null}`, `{"b":2}`},
		"lists are replaced":                {`{"a":[1,2]}`, `{"a":[3]}`, `{"a":[3]}`},
		"nulls of a new object are dropped": {`{}`, `{"a":{"b":null,"c":[{"d":null}]}}`, `{"a":{"c":[{}]}}`},
		"a scalar gives way to an object":   {`{"a":1}`, `{"a":{"b":1}}`, `{"a":{"b":1}}`},
	} {
		t.Run(name, func(t *testing.T) {
			require.JSONEq(t, c.want, text(patch.Merge(value(c.target), value(c.patch))))
		})
	}
}

func TestJSON(t *testing.T) {
	for name, c := range map[string]struct{ target, ops, want, fault string }{
		"add inserts into a list":            {`{"a":[1,3]}`, `[{"op":"add","path":"/a/1","value":2}]`, `{"a":[1,2,3]}`, ""},
		"add appends at the dash":            {`{"a":[1]}`, `[{"op":"add","path":"/a/-","value":2}]`, `{"a":[1,2]}`, ""},
		"an index counts from the end":       {`{"a":[1,2]}`, `[{"op":"remove","path":"/a/-1"}]`, `{"a":[1]}`, ""},
		"replace creates a missing member":   {`{}`, `[{"op":"replace","path":"/a","value":1}]`, `{"a":1}`, ""},
		"move and copy go between places":    {`{"a":1}`, `[{"op":"copy","from":"/a","path":"/b"},{"op":"move","from":"/a","path":"/c"}]`, `{"b":1,"c":1}`, ""},
		"escapes are read":                   {`{"a/b":{"c~d":1}}`, `[{"op":"test","path":"/a~1b/c~0d","value":1}]`, `{"a/b":{"c~d":1}}`, ""},
		"a failed test names its operation":  {`{"a":1}`, `[{"op":"test","path":"/a","value":1},{"op":"test","path":"/a","value":2}]`, "", `operation 1: "/a": the value under test is another one`},
		"a missing parent is a fault":        {`{}`, `[{"op":"add","path":"/a/b","value":1}]`, "", `operation 0: "/a/b": the path does not exist`},
		"an unknown operation is a fault":    {`{}`, `[{"op":"drop","path":"/a"}]`, "", `operation 0: "/a": unknown op "drop"`},
		"an operation must be an object":     {`{}`, `[1]`, "", `operation 0: "": an operation must be an object`},
		"a move without from is a fault":     {`{}`, `[{"op":"move","path":"/a"}]`, "", `operation 0: "/a": from must be a string`},
		"a missing source is told with from": {`{}`, `[{"op":"move","from":"/x","path":"/a"}]`, "", `operation 0: "/a": from "/x": the path does not exist`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := patch.JSON(value(c.target), value(c.ops).([]any))
			if c.fault != "" {
				require.EqualError(t, err, c.fault)
				return
			}
			require.NoError(t, err)
			require.JSONEq(t, c.want, text(got))
		})
	}
}

func TestStrategic(t *testing.T) {
	const two = `{"spec":{"containers":[{"name":"a","image":"1"},{"name":"b"}]}}`
	for name, c := range map[string]struct{ target, patch, want, fault string }{
		"a list merges by its key":        {two, `{"spec":{"containers":[{"name":"b","image":"2"}]}}`, `{"spec":{"containers":[{"name":"a","image":"1"},{"name":"b","image":"2"}]}}`, ""},
		"$patch: delete drops an element": {two, `{"spec":{"containers":[{"name":"a","$patch":"delete"}]}}`, `{"spec":{"containers":[{"name":"b"}]}}`, ""},
		"$patch: replace drops the rest":  {two, `{"spec":{"containers":[{"$patch":"replace"},{"name":"c"}]}}`, `{"spec":{"containers":[{"name":"c"}]}}`, ""},
		"$setElementOrder sorts":          {two, `{"spec":{"$setElementOrder/containers":[{"name":"b"},{"name":"a"}]}}`, `{"spec":{"containers":[{"name":"b"},{"name":"a","image":"1"}]}}`, ""},
		"$retainKeys drops other fields":  {`{"spec":{"volumes":[{"name":"v","emptyDir":{}}]}}`, `{"spec":{"volumes":[{"name":"v","hostPath":{"path":"/"},"$retainKeys":["name","hostPath"]}]}}`, `{"spec":{"volumes":[{"name":"v","hostPath":{"path":"/"}}]}}`, ""},
		"scalars merge, new ones first":   {`{"metadata":{"finalizers":["x","y"]}}`, `{"metadata":{"finalizers":["z"]}}`, `{"metadata":{"finalizers":["z","x","y"]}}`, ""},
		"a deletion list drops scalars":   {`{"metadata":{"finalizers":["x","y"]}}`, `{"metadata":{"$deleteFromPrimitiveList/finalizers":["x"]}}`, `{"metadata":{"finalizers":["y"]}}`, ""},
		"other lists are replaced":        {`{"spec":{"tolerations":[{"key":"a"}]}}`, `{"spec":{"tolerations":[{"key":"b"}]}}`, `{"spec":{"tolerations":[{"key":"b"}]}}`, ""},
		"a missing merge key is a fault":  {two, `{"spec":{"containers":[{"image":"2"}]}}`, "", "spec.containers: an element has no merge key name"},
		"a fault deep inside has a path":  {two, `{"spec":{"containers":[{"name":"a","$retainKeys":[]}]}}`, "", "spec.containers.[name=a].$retainKeys: $retainKeys must be a list that names every field of the patch"},
	} {
		t.Run(name, func(t *testing.T) {
			schema, _ := patch.SchemaFor("", "v1", "Pod")
			got, err := patch.Strategic(schema, object(c.target), object(c.patch))
			if c.fault != "" {
				require.EqualError(t, err, c.fault)
				return
			}
			require.NoError(t, err)
			require.JSONEq(t, c.want, text(got))
		})
	}
}

func TestACustomKindHasNoSchema(t *testing.T) {
	_, ok := patch.SchemaFor("example.com", "v1", "Pod")
	require.False(t, ok)
}

// FuzzPatches checks on any documents that nothing panics, that the inputs stay as
// they were, and that a patch applied twice changes nothing more.
func FuzzPatches(f *testing.F) {
	f.Add(`{"spec":{"containers":[{"name":"a"}]}}`, `{"spec":{"containers":[{"name":"b","$patch":"delete"}],"$setElementOrder/containers":[{"name":"a"}]}}`)
	f.Add(`{"metadata":{"finalizers":["a"]}}`, `{"metadata":{"finalizers":["b"],"$deleteFromPrimitiveList/finalizers":["a"],"$retainKeys":["finalizers"]}}`)
	f.Add(`{"a":[1,null]}`, `{"a":[{"op":"test","path":"/a/0","value":1}]}`)
	schema, _ := patch.SchemaFor("", "v1", "Pod")
	f.Fuzz(func(t *testing.T, targetText, bodyText string) {
		var target, body map[string]any
		if utiljson.Unmarshal([]byte(targetText), &target) != nil || utiljson.Unmarshal([]byte(bodyText), &body) != nil {
			return
		}
		before := text(target) + text(body)
		once := patch.Merge(target, body)
		require.True(t, patch.Equal(once, patch.Merge(once, body)))
		_, _ = patch.Strategic(schema, target, body)
		if ops, ok := body["a"].([]any); ok {
			_, _ = patch.JSON(target, ops)
		}
		require.Equal(t, before, text(target)+text(body))
	})
}

// TestWhatChangesNothing pins which patches the player does not send.
func TestWhatChangesNothing(t *testing.T) {
	const pod = `{"status":{"phase":"Running","podIPs":[{"ip":"10.0.0.1"}],
		"conditions":[{"type":"Ready","status":"True"},{"type":"Initialized","status":"True"}]}}`
	schema, _ := patch.SchemaFor("", "v1", "Pod")
	for name, c := range map[string]struct {
		patch   string
		changes bool
	}{
		"what is there":                  {`{"status":{"phase":"Running","conditions":[{"type":"Initialized","status":"True"}]}}`, false},
		"another scalar":                 {`{"status":{"phase":"Failed"}}`, true},
		"a new field":                    {`{"status":{"reason":"Evicted"}}`, true},
		"a field that goes":              {`{"status":{"phase":null}}`, true},
		"a field that is not there goes": {`{"status":{"reason":null}}`, false},
		"an element changes":             {`{"status":{"conditions":[{"type":"Ready","status":"False"}]}}`, true},
		"an element is new":              {`{"status":{"conditions":[{"type":"PodScheduled"}]}}`, true},
		"a directive":                    {`{"status":{"$retainKeys":["phase","conditions","podIPs"],"phase":"Running"}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			patched, err := patch.Strategic(schema, object(pod), object(c.patch))
			require.NoError(t, err)
			require.Equal(t, c.changes, !patch.Equal(object(pod), patched))
		})
	}
}

func BenchmarkPatch(b *testing.B) {
	schema, _ := patch.SchemaFor("", "v1", "Pod")
	pod := object(`{"metadata":{"name":"p","labels":{"a":"b"}},"spec":{"containers":[{"name":"a","image":"i"}],"nodeName":"n"},
		"status":{"phase":"Pending","conditions":[{"type":"Ready","status":"False"},{"type":"Initialized","status":"True"},{"type":"PodScheduled","status":"True"}]}}`)
	body := object(`{"status":{"phase":"Running","podIP":"10.0.0.1","conditions":[{"type":"Ready","status":"True"}]}}`)
	ops := value(`[{"op":"replace","path":"/status/phase","value":"Running"},{"op":"add","path":"/status/podIP","value":"10.0.0.1"}]`).([]any)
	for name, apply := range map[string]func(){
		"merge":     func() { patch.Merge(pod, body) },
		"strategic": func() { _, _ = patch.Strategic(schema, pod, body) },
		"json":      func() { _, _ = patch.JSON(pod, ops) },
		"equal": func() {
			patch.Equal(pod, patch.Merge(pod, map[string]any{"status": map[string]any{"phase": "Pending"}}))
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				apply()
			}
		})
	}
}

func value(s string) (v any) {
	if err := utiljson.Unmarshal([]byte(s), &v); err != nil {
		panic(err)
	}
	return v
}

func object(s string) map[string]any { return value(s).(map[string]any) }

func text(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func TestCopiesThatDoubleTheObjectAreRefused(t *testing.T) {
	var ops []any
	for i := range 40 {
		ops = append(ops, map[string]any{"op": "copy", "from": "/data", "path": fmt.Sprintf("/data/x%d", i)})
	}
	_, err := patch.JSON(map[string]any{"data": map[string]any{"a": "b"}}, ops)
	require.ErrorContains(t, err, "copies more than")
}

func TestPatchesWithTooManyOperationsAreRefused(t *testing.T) {
	target := map[string]any{"a": "b"}
	ops := slices.Repeat([]any{map[string]any{"op": "add", "path": "/a", "value": "c"}}, 10_000)
	_, err := patch.JSON(target, ops)
	require.NoError(t, err)
	_, err = patch.JSON(target, append(ops, ops[0]))
	require.EqualError(t, err, "The allowed maximum operations in a JSON patch is 10000, got 10001")
}

// TestManyOperationsCostWhatTheyTouch: with a copy of the map or list for each operation, these allocate
// 16 GB and 4 GB.
func TestManyOperationsCostWhatTheyTouch(t *testing.T) {
	members, list, ops := map[string]any{}, []any{}, []any{}
	for i := range 25_000 {
		members[fmt.Sprint("k", i)] = "v"
		list = append(list, "v")
	}
	for i := range 5_000 {
		ops = append(ops, map[string]any{"op": "add", "path": fmt.Sprint("/m/x", i), "value": "v"}, map[string]any{"op": "add", "path": "/l/0", "value": fmt.Sprint(i)})
	}
	target := map[string]any{"m": members, "l": list}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	out, err := patch.JSON(target, ops)
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20))
	require.Len(t, out.(map[string]any)["m"], 30_000)
	require.Len(t, out.(map[string]any)["l"], 30_000)
	require.Equal(t, []any{"4999", "4998"}, out.(map[string]any)["l"].([]any)[:2])
	require.Len(t, members, 25_000)
	require.Equal(t, slices.Repeat([]any{"v"}, 25_000), list)
}

func TestOperationsThatMoveTooManyElementsAreRefused(t *testing.T) {
	ops := slices.Repeat([]any{map[string]any{"op": "add", "path": "/0", "value": "v"}}, 10_000)
	_, err := patch.JSON(make([]any, 400_000), ops)
	require.ErrorContains(t, err, "moves more than 268435456 list elements")
}

// TestResultsShareNothingThatLaterOperationsChange: later operations do not change the copies of a
// copied, moved or added value, and do not change the patch.
func TestResultsShareNothingThatLaterOperationsChange(t *testing.T) {
	for _, c := range []struct{ ops, want string }{
		{`[{"op":"add","path":"/a/x","value":1},{"op":"copy","from":"/a","path":"/b"},{"op":"add","path":"/a/y","value":2},{"op":"add","path":"/b/z","value":3}]`,
			`{"a":{"l":[1,2],"x":1,"y":2},"b":{"l":[1,2],"x":1,"z":3}}`},
		{`[{"op":"add","path":"/a/l/-","value":3},{"op":"copy","from":"/a/l","path":"/b"},{"op":"remove","path":"/a/l/0"},{"op":"add","path":"/b/-","value":4}]`,
			`{"a":{"l":[2,3]},"b":[1,2,3,4]}`},
		{`[{"op":"add","path":"/v","value":{"n":[]}},{"op":"add","path":"/v/n/-","value":1},{"op":"move","from":"/v","path":"/a/v"},{"op":"add","path":"/a/v/n/0","value":0}]`,
			`{"a":{"l":[1,2],"v":{"n":[0,1]}}}`},
		{`[{"op":"add","path":"/a/e","value":[{},[]]},{"op":"copy","from":"/a/e","path":"/b"}]`, `{"a":{"l":[1,2],"e":[{},[]]},"b":[{},[]]}`},
	} {
		target, ops := value(`{"a":{"l":[1,2]}}`), value(c.ops).([]any)
		got, err := patch.JSON(target, ops)
		require.NoError(t, err)
		require.JSONEq(t, c.want, text(got))
		require.JSONEq(t, `{"a":{"l":[1,2]}}`, text(target))
		require.JSONEq(t, c.ops, text(ops))
	}
}

// TestAConditionThatIsRenewedIsNotCopied: a patch with all fields of an element is the element itself.
func TestAConditionThatIsRenewedIsNotCopied(t *testing.T) {
	schema, _ := patch.SchemaFor("", "v1", "Node")
	const old = `{"type":"Ready","status":"True","lastHeartbeatTime":"1"}`
	for name, c := range map[string]struct {
		old, patch, want string
		itself           bool
	}{
		"a new time":              {old, `{"type":"Ready","status":"True","lastHeartbeatTime":"2"}`, `{"lastHeartbeatTime":"2","status":"True","type":"Ready"}`, true},
		"a new field":             {old, `{"type":"Ready","status":"True","lastHeartbeatTime":"1","reason":"a"}`, `{"lastHeartbeatTime":"1","reason":"a","status":"True","type":"Ready"}`, true},
		"a missing field":         {old, `{"type":"Ready","lastHeartbeatTime":"2"}`, `{"lastHeartbeatTime":"2","status":"True","type":"Ready"}`, false},
		"one missing and one new": {old, `{"type":"Ready","lastHeartbeatTime":"2","reason":"a"}`, `{"lastHeartbeatTime":"2","reason":"a","status":"True","type":"Ready"}`, false},
		"a null":                  {old, `{"type":"Ready","status":null,"lastHeartbeatTime":"2"}`, `{"lastHeartbeatTime":"2","type":"Ready"}`, false},
		"a directive":             {old, `{"type":"Ready","status":"True","lastHeartbeatTime":"2","$retainKeys":["type","status","lastHeartbeatTime"]}`, `{"lastHeartbeatTime":"2","status":"True","type":"Ready"}`, false},
		"a number in its form":    {`{"type":"Ready","n":1,"s":"a"}`, `{"type":"Ready","n":1.0,"s":"b"}`, `{"n":1,"s":"b","type":"Ready"}`, false},
		"a nested object":         {`{"type":"Ready","o":{"a":1}}`, `{"type":"Ready","o":{"b":2}}`, `{"o":{"a":1,"b":2},"type":"Ready"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			target, body := object(`{"status":{"conditions":[`+c.old+`]}}`), object(`{"status":{"conditions":[`+c.patch+`]}}`)
			got, err := patch.Strategic(schema, target, body)
			require.NoError(t, err)
			require.JSONEq(t, `{"status":{"conditions":[`+c.want+`]}}`, text(got))
			require.Equal(t, `{"status":{"conditions":[`+text(object(c.old))+`]}}`, text(target), "the old object stays")
			condition := func(obj map[string]any) uintptr {
				return reflect.ValueOf(obj["status"].(map[string]any)["conditions"].([]any)[0]).Pointer()
			}
			require.Equal(t, c.itself, condition(got) == condition(body))
		})
	}
}
