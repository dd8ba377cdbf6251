package kstatus

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Compute returns the status of an object now, by the rules of upstream. It is the only function of the package that reads the clock.
func Compute(obj *unstructured.Unstructured) Result { return ComputeAt(obj, time.Now()) }

// ComputeAt is [Compute] at a given time.
func ComputeAt(obj *unstructured.Unstructured, now time.Time) Result {
	return standard.Compute(obj, now)
}

// Extended returns the rules that are right more often.
func Extended() *Rules { return standard }
