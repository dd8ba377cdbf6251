package shard

import (
	"github.com/stagecraft-go/stagecraft/stage"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// KeyOf returns the key by which an object is given to a member. A Pod that is bound to a Node has
// the key of the Node; any other object has its own key.
func KeyOf(obj *unstructured.Unstructured) stage.Key {
	key := stage.KeyOf(obj)
	if key.Group != "" || key.Kind != "Pod" {
		return key
	}
	if node, _, _ := unstructured.NestedString(obj.Object, "spec", "nodeName"); node != "" {
		return stage.Key{Version: "v1", Kind: "Node", Name: node}
	}
	return key
}

// Owner returns which of the members owns the objects of a key, or "" without members. Neither the
// order of members nor the version in the key matters. Each member owns about the same share of all
// keys. If one member is missing, only its keys have other owners.
func Owner(members []string, key stage.Key) string {
	var owner string
	var most uint64
	hash := hashOf(key)
	for _, m := range members {
		if s := score(hash, hashOfMember(m)); owner == "" || s > most || s == most && m < owner {
			owner, most = m, s
		}
	}
	return owner
}

// score combines the hash of a member with that of a key. The member with the highest score owns
// the key.
func score(key, member uint64) uint64 { return mix(key ^ member) }

func hashOf(k stage.Key) uint64 {
	return mix(add(add(add(add(fnvOffset, k.Group), k.Kind), k.Namespace), k.Name))
}

func hashOfMember(identity string) uint64 { return mix(add(fnvOffset, identity)) }

const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

// add continues an FNV-1a hash with the bytes of a text, and with a byte that no text contains.
func add(h uint64, text string) uint64 {
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * fnvPrime
	}
	return (h ^ 0xff) * fnvPrime
}

// mix makes every bit of the result depend on every bit of the argument: the finalizer of
// splitmix64.
func mix(z uint64) uint64 {
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}
