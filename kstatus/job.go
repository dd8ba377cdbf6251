package kstatus

func job(o *Object) (Result, bool) {
	parallelism := o.IntOr(1, "spec", "parallelism")
	completions := o.IntOr(parallelism, "spec", "completions")
	suspend := o.Bool("spec", "suspend")
	if o.waitForJobs && suspend {
		return suspendedJob(), true
	}
	for c := range o.Conditions() {
		switch {
		case c.Status != "True":
		case c.Type == "Complete":
			return Current.saying(counted("Job Completed. succeeded: %d/%d", o.count("succeeded"), completions)), true
		case c.Type == "Failed":
			return failedJob(o.count("failed"), completions), true
		case c.Type == "Suspended" && suspend:
			return suspendedJob(), true
		}
	}
	return unfinishedJob(o, parallelism), true
}

func suspendedJob() Result {
	r := Current.Because("", "Job is suspended").At("spec.suspend")
	r.Suspended = true
	return r
}

func failedJob(failed, completions int64) Result {
	r := Failed.because("JobFailed", counted("Job Failed. failed: %d/%d", failed, completions)).in("status.conditions", "Failed")
	r.Terminal = true
	return r
}

func unfinishedJob(o *Object, parallelism int64) Result {
	started := o.Text("status", "startTime") != ""
	progress := counted("Job in progress. success:%d, active: %d, failed: %d", o.count("succeeded"), o.count("active"), o.count("failed"))
	switch {
	case started && o.waitForJobs:
		return InProgress.because("JobInProgress", progress).At("status.conditions")
	case started:
		return Current.saying(progress).At("status.startTime")
	case o.waitForJobs:
		return InProgress.because("JobNotStarted", counted("Job not started. active: %d/%d", o.count("active"), parallelism)).At("status.startTime")
	}
	return InProgress.Because("JobNotStarted", "Job not started").At("status.startTime")
}
