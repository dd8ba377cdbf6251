package policies

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

var (
	podKind        = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	nodeKind       = schema.GroupVersionKind{Version: "v1", Kind: "Node"}
	eventKind      = schema.GroupVersionKind{Version: "v1", Kind: "Event"}
	claimKind      = schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolumeClaim"}
	volumeKind     = schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolume"}
	serviceKind    = schema.GroupVersionKind{Version: "v1", Kind: "Service"}
	configMapKind  = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	quotaKind      = schema.GroupVersionKind{Version: "v1", Kind: "ResourceQuota"}
	rcKind         = schema.GroupVersionKind{Version: "v1", Kind: "ReplicationController"}
	deploymentKind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	replicaSetKind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}
	statefulKind   = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}
	jobKind        = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	budgetKind     = schema.GroupVersionKind{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"}
)

// A family is a group of controllers, with the possible changes of their objects.
type family struct {
	name   string
	kinds  []schema.GroupVersionKind // that are compared
	setup  []step                    // before the controllers begin
	length time.Duration
	theirs func(world, kubernetes.Interface, informers.SharedInformerFactory) ([]func(), error)
	ours   func() []reconcile.Controller
	random func(*rand.Rand) step
}

// A scenario is a list of changes in a cluster.
type scenario struct {
	*family
	steps []step
}

// A step is something that happens to an object.
type step struct {
	at   time.Duration
	do   string // create, patch, status, delete, remove, evict
	kind schema.GroupVersionKind
	name string
	body string // YAML
}

func (s step) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s %s", s.do, s.kind.Kind, s.name, s.body))
}

func (s step) json() []byte {
	data, err := yaml.YAMLToJSON([]byte(s.body))
	if err != nil {
		panic(err)
	}
	return data
}

func (s scenario) String() string {
	var b strings.Builder
	for _, step := range s.steps {
		fmt.Fprintf(&b, "%.3f %s\n", step.at.Seconds(), step)
	}
	return b.String()
}

func families() []*family {
	return []*family{budgets(), quotas(), protection(), collection()}
}

// scenario returns the random scenario of a seed.
func (f *family) scenario(seed uint64) scenario {
	r := rand.New(rand.NewPCG(seed, 20))
	s := scenario{family: f}
	for range 10 + r.IntN(25) {
		next := f.random(r)
		next.at = time.Duration(r.IntN(int(f.length/time.Second)*3/4)) * time.Second
		if r.IntN(2) == 0 {
			next.at /= 5 // much of it happens in the beginning
			next.at -= next.at % time.Second
		}
		s.steps = append(s.steps, next)
	}
	slices.SortStableFunc(s.steps, func(a, b step) int { return int(a.at - b.at) })
	for i := range s.steps {
		s.steps[i].at += stepAt + time.Duration(i)*stepBy
	}
	return s
}

// pick returns one of several things.
func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }
