package kstatus

import "github.com/stagecraft-go/stagecraft/internal/object"

// karmadaBinding is as healthy as what it is bound to, cluster by cluster.
func karmadaBinding(o Object) (Result, bool) {
	if c, ok := o.find("Scheduled", "False", ""); ok {
		return InProgress.From(c), true
	}
	wanted, reported := len(o.List("spec", "clusters")), o.List("status", "aggregatedStatus")
	for _, item := range reported {
		cluster, _ := object.ToMap(item)
		if r, not := notBound(cluster); not {
			return r, true
		}
	}
	if len(reported) < wanted {
		return InProgress.because("LessReported", counted("Clusters: %d/%d", int64(len(reported)), int64(wanted))).At("status.aggregatedStatus"), true
	}
	return Result{}, false
}

func notBound(cluster map[string]any) (Result, bool) {
	name, _ := cluster["clusterName"].(string)
	switch {
	case cluster["applied"] == false:
		return Failed.because("NotApplied", named("Not applied in %s", name)).At("status.aggregatedStatus"), true
	case cluster["health"] == "Unhealthy":
		return Failed.because("Unhealthy", named("Not healthy in %s", name)).At("status.aggregatedStatus"), true
	}
	return Result{}, false
}
