package nodes

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
)

// A toleration is an entry of spec.tolerations of a Pod.
type toleration struct {
	key, operator, value, effect string
	seconds                      int64
	forEver                      bool // it has no tolerationSeconds
}

// defaultTolerationSeconds is the time for which Pods tolerate the taints not-ready and unreachable
// by default in the API server.
const defaultTolerationSeconds = 300

// tolerationsOf returns the tolerations of a Pod including the tolerations that the API server
// adds.
func tolerationsOf(pod *unstructured.Unstructured) (found []toleration) {
	missing := map[string]bool{notReadyKey: true, unreachableKey: true}
	for _, m := range fields.Maps(pod.Object, "spec", "tolerations") {
		t := toleration{key: fields.String(m, "key"), operator: fields.String(m, "operator"), value: fields.String(m, "value"), effect: fields.String(m, "effect")}
		seconds, ok := object.Int64(m, "tolerationSeconds")
		t.seconds, t.forEver = seconds, !ok
		found = append(found, t)
		for _, key := range []string{notReadyKey, unreachableKey} {
			if (t.key == key || t.key == "") && (t.effect == noExecute || t.effect == "") {
				missing[key] = false
			}
		}
	}
	for _, key := range []string{notReadyKey, unreachableKey} {
		if missing[key] {
			found = append(found, toleration{key: key, operator: "Exists", effect: noExecute, seconds: defaultTolerationSeconds})
		}
	}
	return found
}

func (t toleration) matches(other taint) bool {
	switch {
	case t.effect != "" && t.effect != other.effect, t.key != "" && t.key != other.key:
		return false
	case t.operator == "Exists":
		return true
	}
	return (t.operator == "" || t.operator == "Equal") && t.value == other.value
}

// toleratedFor returns how long a Pod tolerates taints, or that it tolerates them forever. It
// returns false if the Pod does not tolerate one of the taints at all.
func toleratedFor(pod *unstructured.Unstructured, taints []taint) (d time.Duration, forEver, ok bool) {
	all, shortest := tolerationsOf(pod), int64(-1)
	for _, one := range taints {
		t, found := firstMatch(all, one)
		if !found {
			return 0, false, false
		}
		if !t.forEver && (shortest < 0 || t.seconds < shortest) {
			shortest = max(t.seconds, 0)
		}
	}
	return fields.Seconds(shortest), shortest < 0, true
}

func firstMatch(all []toleration, one taint) (toleration, bool) {
	for _, t := range all {
		if t.matches(one) {
			return t, true
		}
	}
	return toleration{}, false
}
