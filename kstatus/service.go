package kstatus

func service(o *Object) (Result, bool) {
	if o.Text("spec", "type") == "LoadBalancer" && o.Text("spec", "clusterIP") == "" {
		return InProgress.Because("NoIPAssigned", "ClusterIP not set. Service type: LoadBalancer").At("spec.clusterIP"), true
	}
	return Current.Because("", "Service is ready"), true
}
