package kstatus

import "slices"

// Aggregate is the status of several objects that are waited for to reach the desired status: Failed if one failed, else Unknown if one
// is unknown, else the desired status if all have it, else InProgress. No objects have reached it.
func Aggregate(desired Status, statuses ...Status) Status {
	for _, s := range []Status{Failed, Unknown} {
		if slices.Contains(statuses, s) {
			return s
		}
	}
	for _, s := range statuses {
		if s != desired {
			return InProgress
		}
	}
	return desired
}
