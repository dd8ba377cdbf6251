package kstatus

// claim is the rule for PersistentVolumeClaims.
func claim(o *Object) (Result, bool) {
	phase, ok := o.Value("status", "phase").(string)
	if !ok {
		phase = "unknown"
	}
	if phase != "Bound" {
		return InProgress.because("NotBound", named("PVC is not Bound. phase: %s", phase)).At("status.phase"), true
	}
	return Current.Because("", "PVC is Bound").At("status.phase"), true
}
