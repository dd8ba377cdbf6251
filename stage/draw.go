package stage

import "github.com/stagecraft-go/stagecraft/internal/random"

// identity is what all draws of one object begin with: (seed, group, kind, namespace, name).
func (k Key) identity(seed uint64) random.Hash {
	return random.New(seed).Text(k.Group).Text(k.Kind).Text(k.Namespace).Text(k.Name)
}

// draws are the random numbers of the n-th entry of one object.
type draws random.Hash

func entry(h random.Hash, n uint64) draws { return draws(h.Number(n)) }

// choice decides between the Stages that match.
func (d draws) choice() uint64 { return random.Hash(d).Text("choice").Sum() }

// delay decides the delay of the chosen Stage.
func (d draws) delay(stage string) uint64 { return random.Hash(d).Text("delay").Text(stage).Sum() }

// eval is the seed of Rand() in the expressions of the Stage with that salt. It is asked for at
// every match, so it is cheap.
func (d draws) eval(salt uint64) uint64 { return uint64(d) ^ salt }

// effects is the seed of random functions in templates.
func (d draws) effects(stage string) uint64 { return random.Hash(d).Text("effects").Text(stage).Sum() }
