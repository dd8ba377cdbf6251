package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8sjson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

// A statusCase is a case of any file of kstatus/; each file uses some of the fields.
type statusCase struct {
	Name, Manifest, Decoder string

	Statuses  []kstatus.Status
	Desired   kstatus.Status
	OwnStatus *kstatus.Status
	Generated []struct {
		Status   kstatus.Status
		Resource map[string]any
	}
	Want     json.RawMessage
	WantFork kstatus.Status
}

// A wanted is the want of a case, where it is an object.
type wanted struct {
	Status          kstatus.Status
	Message         *string
	MessageContains string
	Conditions      []kstatus.Condition
	ExactCount      *int
	Expect          struct{ StatusIn []kstatus.Status }
}

// statusChecks are the files of kstatus/ and how their cases are checked.
var statusChecks = []struct {
	name  string
	check func(statusCase, wanted) string
}{
	{"compute", checkCompute},
	{"tolerant", checkTolerant},
	{"augment", checkAugment},
	{"job", checkJob},
	{"aggregate", checkAggregate},
	{"pod-controller", checkPodController},
}

func statusSuites(dir string) ([]suite, error) {
	var suites []suite
	for _, c := range statusChecks {
		var cases []statusCase
		err := readJSON(filepath.Join(dir, "kstatus", c.name+".json"), &cases)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		s := suite{name: "kstatus/" + c.name}
		for _, sc := range cases {
			s.cases = append(s.cases, testCase{name: sc.Name, run: func() string {
				var want wanted
				_ = json.Unmarshal(sc.Want, &want) // a want that is a string is read by its check
				return c.check(sc, want)
			}})
		}
		suites = append(suites, s)
	}
	return suites, nil
}

func checkCompute(c statusCase, want wanted) string {
	obj, now, err := decode(c)
	if err != nil {
		return err.Error()
	}
	return compare(kstatus.Standard().Compute(obj, now), want)
}

// compare compares the parts that the case names: always the status, the rest if it is given.
func compare(got kstatus.Result, want wanted) string {
	switch {
	case got.Status != want.Status:
		return fmt.Sprintf("want %s, got %s", want.Status, got)
	case want.Message != nil && got.Message() != *want.Message:
		return fmt.Sprintf("want %q, got %q", *want.Message, got.Message())
	case !strings.Contains(got.Message(), want.MessageContains):
		return fmt.Sprintf("want a message with %q, got %q", want.MessageContains, got.Message())
	case want.Conditions != nil && !slices.Equal(got.Conditions(), want.Conditions):
		return fmt.Sprintf("want %+v, got %+v", want.Conditions, got.Conditions())
	}
	return ""
}

func checkTolerant(c statusCase, want wanted) string {
	obj, now, err := decode(c)
	if err != nil {
		return err.Error()
	}
	got := kstatus.Standard().Compute(obj, now)
	if !slices.Contains(want.Expect.StatusIn, got.Status) {
		return fmt.Sprintf("want one of %s, got %s", want.Expect.StatusIn, got)
	}
	return ""
}

func checkAugment(c statusCase, want wanted) string {
	obj, now, err := decode(c)
	if err != nil {
		return err.Error()
	}
	kstatus.Standard().Augment(obj, now)
	have, _, err := unstructured.NestedSlice(obj.Object, "status", "conditions")
	if err != nil {
		return err.Error()
	}
	if want.ExactCount != nil && len(have) != *want.ExactCount {
		return fmt.Sprintf("want %d conditions, got %v", *want.ExactCount, have)
	}
	for _, w := range want.Conditions {
		if !slices.ContainsFunc(have, func(item any) bool { return isCondition(item, w) }) {
			return fmt.Sprintf("want %+v among %v", w, have)
		}
	}
	return ""
}

func isCondition(item any, want kstatus.Condition) bool {
	text := func(key string) string { s, _, _ := unstructured.NestedString(item.(map[string]any), key); return s }
	return text("type") == want.Type && text("status") == want.Status && text("reason") == want.Reason &&
		(want.Message == "" || text("message") == want.Message)
}

func checkJob(c statusCase, want wanted) string {
	obj, now, err := decode(c)
	if err != nil {
		return err.Error()
	}
	return compare(kstatus.Standard().WaitForJobs(true).Compute(obj, now), want)
}

func checkAggregate(c statusCase, _ wanted) string {
	return equal(wantedStatus(c), c.Desired.Aggregate(c.Statuses...))
}

// replicaSet is the kind whose Pods the cases of kstatus/pod-controller speak of.
var replicaSet = schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}

// checkPodController checks the standard profile against upstream, and Extended against the fork.
func checkPodController(c statusCase, _ wanted) string {
	own := kstatus.Unknown.Because("Error", "")
	if c.OwnStatus != nil {
		own = c.OwnStatus.Because("", "")
	}
	var pods []kstatus.Child
	for _, g := range c.Generated {
		child := kstatus.Child{Result: g.Status.Because("", "")}
		if g.Resource != nil {
			child.Object = &unstructured.Unstructured{Object: g.Resource}
		}
		pods = append(pods, child)
	}
	return equal(wantedStatus(c), kstatus.Standard().Combine(replicaSet, own, pods).Status) +
		equal(c.WantFork, kstatus.Extended().Combine(replicaSet, own, pods).Status)
}

func wantedStatus(c statusCase) (s kstatus.Status) {
	_ = json.Unmarshal(c.Want, &s) // "" equals no result
	return s
}

func equal(want, got kstatus.Status) string {
	if want == got {
		return ""
	}
	return fmt.Sprintf("want %s, got %s", want, got)
}

// decode reads the object of a case, and the time at which to look at it.
func decode(c statusCase) (*unstructured.Unstructured, time.Time, error) {
	now := time.Now().Truncate(time.Second)
	data, err := yaml.YAMLToJSON([]byte(strings.ReplaceAll(c.Manifest, "__NOW__", now.Format(time.RFC3339))))
	if err != nil {
		return nil, now, err
	}
	unmarshal := func(data []byte, into *map[string]any) error { return k8sjson.Unmarshal(data, into) }
	if c.Decoder == "float64" {
		unmarshal = func(data []byte, into *map[string]any) error { return json.Unmarshal(data, into) }
	}
	obj := &unstructured.Unstructured{}
	return obj, now, unmarshal(data, &obj.Object)
}

func readJSON(file string, into any) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}
