package stage

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/random"
)

// identity is the common part of all draws of one object: (seed, group, kind, namespace, name, uid,
// age at the first observation).
//
// Because of the uid, an object that is created again makes new draws. A restarted program has lost
// the number of the entry and observes an object for the first time again; because of the age, the
// object does not repeat its draws from the first on.
func (k *kind) identity(seed uint64, obj *unstructured.Unstructured, now time.Time) random.Hash {
	metadata := metadataOf(obj)
	return random.New(seed).Text(k.Group).Text(k.Kind).Text(text(metadata, "namespace")).Text(text(metadata, "name")).
		LongText(text(metadata, "uid")).Number(age(metadata, now))
}

// age returns the age of an object in whole seconds; 0 without a creationTimestamp.
func age(metadata map[string]any, now time.Time) uint64 {
	created := text(metadata, "creationTimestamp")
	if created == "" {
		return 0
	}
	t, err := time.Parse(time.RFC3339, created)
	if err != nil {
		return 0
	}
	return uint64(max(now.Sub(t), 0) / time.Second)
}

// draws are the random numbers of the n-th entry of one object.
type draws random.Hash

func entry(h random.Hash, n uint64) draws { return draws(h.Number(n)) }

// choice decides between the Stages that match.
func (d draws) choice() uint64 { return random.Hash(d).Text("choice").Sum() }

// delay decides the delay of the chosen Stage.
func (d draws) delay(stage string) uint64 { return random.Hash(d).Text("delay").Text(stage).Sum() }

// eval is the seed of Rand() in the expressions of the Stage with that salt. Every match computes
// it, so it is cheap.
func (d draws) eval(salt uint64) uint64 { return uint64(d) ^ salt }

// effects is the seed of random functions in templates.
func (d draws) effects(stage string) uint64 { return random.Hash(d).Text("effects").Text(stage).Sum() }
