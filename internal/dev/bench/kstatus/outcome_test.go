package kstatus

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

// An outcome is all that both sides say of an object.
type outcome struct {
	Status, Message       string
	Type, Reason, Because string // the condition, if any
	Failure               string // the peer's error or panic
}

// peer asks cli-utils.
func peer(obj *unstructured.Unstructured) (o outcome) {
	defer func() {
		if p := recover(); p != nil {
			o = outcome{Failure: fmt.Sprint("panic: ", p)}
		}
	}()
	r, err := status.Compute(obj)
	if err != nil {
		return outcome{Failure: err.Error()}
	}
	o = outcome{Status: r.Status.String(), Message: r.Message}
	for _, c := range r.Conditions {
		o.Type, o.Reason, o.Because = c.Type.String(), c.Reason, c.Message
	}
	return o
}

// ours asks stagecraft.
func ours(obj *unstructured.Unstructured) outcome {
	r := kstatus.Standard().Compute(obj, time.Now())
	o := outcome{Status: string(r.Status), Message: r.Message()}
	for _, c := range r.Conditions() {
		o.Type, o.Reason, o.Because = c.Type, c.Reason, c.Message
	}
	return o
}
