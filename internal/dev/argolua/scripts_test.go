package argolua_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/argoproj/argo-cd/v3/resource_customizations"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8sjson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/argolua"
)

// now is the time of all verdicts. No script of Argo CD depends on it.
var now = time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)

// A healthCase is a case of health/argo*.json.
type healthCase struct {
	Name, Rule, Manifest                string
	WantHealth, WantMessage, WantStatus string
}

func cases(t *testing.T, file string) (out []healthCase) {
	t.Helper()
	data, err := os.ReadFile("../../../../shared/conformance/health/" + file + ".json")
	if err != nil {
		t.Skip("../shared/conformance is not here: ", err)
	}
	require.NoError(t, json.Unmarshal(data, &out))
	return out
}

func object(t *testing.T, manifest string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(manifest))
	require.NoError(t, err)
	obj := &unstructured.Unstructured{}
	require.NoError(t, k8sjson.Unmarshal(data, &obj.Object))
	return obj
}

// loaded are the scripts of Argo CD, and the profile in which they are rules.
func loaded(t *testing.T) (map[schema.GroupKind]*argolua.Script, *kstatus.Rules) {
	scripts, err := argolua.LoadScripts(resource_customizations.Embedded, argolua.Options{})
	require.NoError(t, err)
	require.Len(t, scripts, 238)
	rules, err := argolua.Load(resource_customizations.Embedded)
	require.NoError(t, err)
	return scripts, kstatus.Extended().With(rules)
}

// TestArgosOwnTests runs each script on the test cases next to it: status and message are the ones
// that Argo CD expects.
func TestArgosOwnTests(t *testing.T) {
	scripts, _ := loaded(t)
	run := 0
	require.NoError(t, fs.WalkDir(resource_customizations.Embedded, ".", func(file string, _ fs.DirEntry, err error) error {
		if path.Base(file) != "health_test.yaml" {
			return err
		}
		data, err := fs.ReadFile(resource_customizations.Embedded, file)
		require.NoError(t, err)
		var suite struct {
			Tests []struct {
				InputPath    string
				HealthStatus struct{ Status, Message string }
			}
		}
		require.NoError(t, yaml.Unmarshal(data, &suite))
		for _, c := range suite.Tests {
			input := path.Join(path.Dir(file), c.InputPath)
			data, err := fs.ReadFile(resource_customizations.Embedded, input)
			require.NoError(t, err)
			h, known := healthOf(t, scripts, object(t, string(data)))
			require.True(t, known, input)
			require.Equal(t, argolua.Health(c.HealthStatus), h, input)
			run++
		}
		return err
	}))
	t.Logf("%d of %d cases", run, run)
	require.Greater(t, run, 1000)
}

// newer are cases of the corpus on which the scripts of this version give other results. The corpus
// is from an older version of Argo CD.
var newer = map[string]bool{
	"apiextensions.k8s.io/CustomResourceDefinition/crd-v1-not-established-degraded":               true,
	"bitnami.com/SealedSecret/degraded":                                                           true,
	"bitnami.com/SealedSecret/healthy":                                                            true,
	"controlplane.cluster.x-k8s.io/AWSManagedControlPlane/degraded_failure_message":               true,
	"controlplane.cluster.x-k8s.io/AWSManagedControlPlane/degraded_failure_message_no_conditions": true,
	"controlplane.cluster.x-k8s.io/AWSManagedControlPlane/progressing_stale_generation":           true,
	"controlplane.cluster.x-k8s.io/AWSManagedControlPlane/progressing_updating":                   true,
	"kubevirt.io/VirtualMachine/suspended_stopped":                                                true,
	"work.karmada.io/ResourceBinding/health_propagated_dep":                                       true,
}

// TestScriptsOnTheCorpus runs the scripts on the cases of the corpus, alone and as rules: there, the
// general rules of kstatus come first. Cases of kinds without a script are left out.
func TestScriptsOnTheCorpus(t *testing.T) {
	scripts, profile := loaded(t)
	for _, file := range []string{"argo", "argo-2"} {
		run, scored, same := 0, 0, 0
		for _, c := range cases(t, file) {
			obj := object(t, c.Manifest)
			h, known := healthOf(t, scripts, obj)
			if !known {
				continue
			}
			run++
			require.Equal(t, newer[c.Name], h.Status != c.WantHealth, "%s: want %s, got %s", c.Name, c.WantHealth, h)
			if c.WantStatus == "" || obj.GetDeletionTimestamp() != nil {
				continue
			}
			scored++
			if r := profile.Compute(obj, now); string(r.Status) == c.WantStatus {
				same++
			} else {
				t.Logf("%s: want %s, got %s", c.Name, c.WantStatus, r)
			}
		}
		t.Logf("%s: %d cases, as rules %d of %d", file, run, same, scored)
		require.Greater(t, run, 400, file)
		require.GreaterOrEqual(t, 100*same, 97*scored, file)
	}
}

func BenchmarkScript(b *testing.B) {
	scripts, err := argolua.LoadScripts(resource_customizations.Embedded, argolua.Options{})
	require.NoError(b, err)
	script := scripts[schema.GroupKind{Group: "cert-manager.io", Kind: "Certificate"}]
	obj := map[string]any{"status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}}
	for b.Loop() {
		_, err = script.Health(obj, now)
	}
	require.NoError(b, err)
}

// TestScriptsOnOtherSources compares the scripts, as rules, with the rules of Extended on the clear
// cases of other projects whose kinds have a script. It reports; another project's opinion decides
// nothing.
func TestScriptsOnOtherSources(t *testing.T) {
	scripts, profile := loaded(t)
	files, err := filepath.Glob("../../../../shared/conformance/health*/*.json")
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skip("../shared/conformance is not here")
	}
	total, byScript, byExtended := 0, 0, 0
	for _, file := range files {
		if strings.HasPrefix(filepath.Base(file), "argo") {
			continue
		}
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		var all []struct{ Manifest, WantStatus, Arguable string }
		require.NoError(t, json.Unmarshal(data, &all))
		for _, c := range all {
			obj := object(t, c.Manifest)
			if c.WantStatus == "" || c.Arguable != "" || obj.GetDeletionTimestamp() != nil || scriptOf(scripts, obj.GroupVersionKind().GroupKind()) == nil {
				continue
			}
			total++
			if string(profile.Compute(obj, now).Status) == c.WantStatus {
				byScript++
			}
			if string(kstatus.Extended().Compute(obj, now).Status) == c.WantStatus {
				byExtended++
			}
		}
	}
	t.Logf("%d cases: %d as the scripts say, %d as Extended says", total, byScript, byExtended)
	require.Greater(t, total, 100)
}
