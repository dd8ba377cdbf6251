package labtest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/kstatus/kstatustest"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

func TestWaitCurrentSaysWhatIsMissingAndWhoIsToBlame(t *testing.T) {
	said := failure(t, labtest.Options{Failures: []labtest.Failure{{State: kstatustest.ImagePullBackOff, Rate: 1}}}, func(lab *labtest.Lab) {
		lab.Apply(web, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")
		lab.WaitCurrent()
	})
	for _, want := range []string{
		"labtest: Deployment default/web is not Current",
		"standard profile: Failed ProgressDeadlineExceeded: Progress deadline exceeded",
		"status.availableReplicas: missing: 3",
		`status.conditions[type="Progressing"].reason: "ProgressDeadlineExceeded", should be "NewReplicaSetAvailable"`,
		"ReplicaSet default/web-",
		"Pod default/web-",
		"ImagePullBackOff",
	} {
		require.Contains(t, said, want)
	}
	require.NotContains(t, said, "ConfigMap")
	require.NotContains(t, said, "terminatingReplicas: 0")
	require.NotContains(t, said, "minimum availability.", "messages differ by nature")
}

func TestWaitCurrentNamesWhatIsGone(t *testing.T) {
	said := failure(t, labtest.Options{}, func(lab *labtest.Lab) {
		lab.Apply(web)
		lab.WaitCurrent(object("apps/v1", "Deployment", "web"), object("v1", "Service", "web"))
	})
	require.Equal(t, "labtest: Service default/web is not there", said)
}

func TestWaitCurrentWaitsForAPatience(t *testing.T) {
	var lab *labtest.Lab
	said := failure(t, labtest.Options{Timeout: time.Minute}, func(l *labtest.Lab) {
		lab = l
		l.Apply(`{apiVersion: batch/v1, kind: CronJob, metadata: {name: nightly}, spec: {schedule: '@hourly',
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}}}`, object("v1", "ConfigMap", "web"))
		l.WaitCurrent(object("v1", "Pod", "web"))
	})
	require.Contains(t, said, "Pod default/web is not there")
	require.LessOrEqual(t, lab.Now().Sub(time.Date(2006, 1, 2, 15, 4, 5, 0, time.UTC)), time.Minute)
}

var shops = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Shop"}

func TestWaitCurrentTellsWhatControllersFailedWith(t *testing.T) {
	broken := reconcile.Controller{Name: "broken", For: pods, Reconcile: func(context.Context, reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{}, errors.New("no luck")
	}}
	said := failure(t, labtest.Options{Controllers: []reconcile.Controller{broken}, Timeout: time.Second}, func(lab *labtest.Lab) {
		lab.Apply(podIn("default", "web"))
		lab.Drive(object("v1", "Pod", "web"), kstatustest.Pending)
		lab.WaitCurrent()
	})
	require.Contains(t, said, "Pod default/web is not Current")
	require.NotContains(t, said, "no luck", "it does not touch what is held")
	said = failure(t, labtest.Options{Controllers: []reconcile.Controller{broken}, Timeout: time.Second}, func(lab *labtest.Lab) {
		lab.Apply(podIn("default", "web"))
		lab.WaitCurrent(object("v1", "Pod", "other"))
	})
	require.Regexp(t, `\nbroken default/web: no luck \(\d+ times\)$`, said)
	require.Equal(t, 1, strings.Count(said, "no luck"))
}

// TestWaitCurrentNamesTheChildrenOfACustomResource, for which no rule looks at children.
func TestWaitCurrentNamesTheChildrenOfACustomResource(t *testing.T) {
	options := labtest.Options{
		Timeout:  20 * time.Minute,
		Kinds:    []memory.Kind{{GroupVersionKind: shops, Status: true}},
		Failures: []labtest.Failure{{State: kstatustest.ImagePullBackOff, Rate: 1}},
	}
	said := failure(t, options, func(lab *labtest.Lab) {
		lab.Apply(`{apiVersion: example.com/v1, kind: Shop, metadata: {name: home}}`)
		shop := lab.Get("example.com/v1", "Shop", "home")
		owned := object("apps/v1", "Deployment", "web")
		require.NoError(t, yaml.Unmarshal([]byte(web), &owned.Object))
		owned.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Shop", Name: "home", UID: shop.GetUID()}})
		lab.Apply(owned)
		lab.WaitCurrent(shop)
	})
	require.Contains(t, said, "Shop default/home is not Current")
	require.Contains(t, said, "\n  Deployment default/web: Failed ProgressDeadlineExceeded")
	require.Regexp(t, `\n  Pod default/web-\S+: Failed ImagePullBackOff`, said)
	require.NotContains(t, said, "AsExpected", "no controller writes the reason that was made up")
}

func TestWaitCurrentGivesThoseWhoFollowTheirTime(t *testing.T) {
	var passed time.Duration
	said := failure(t, labtest.Options{Timeout: 90 * time.Second, Sync: func(d time.Duration) { passed += d }}, func(lab *labtest.Lab) {
		lab.WaitCurrent(object("v1", "Pod", "web"))
	})
	require.Equal(t, "labtest: Pod default/web is not there", said)
	require.Equal(t, 90*time.Second, passed)
}

func TestWaitCurrentSaysWhyThereIsNoNode(t *testing.T) {
	said := failure(t, labtest.Options{Timeout: time.Minute}, func(lab *labtest.Lab) {
		lab.Apply(strings.ReplaceAll(web, "image: nginx", "image: nginx, resources: {requests: {cpu: 64}}"))
		lab.WaitCurrent()
	})
	require.Contains(t, said, "0/3 nodes are available: 3 Insufficient cpu.")
}
