package kstatus

// definition is the rule for CustomResourceDefinitions.
func definition(o Object) (Result, bool) {
	for c := range o.Conditions() {
		switch {
		case c.Type == "NamesAccepted" && c.Status == "False",
			c.Type == "Established" && c.Status == "False" && c.Reason != "Installing":
			return Failed.From(c), true
		case c.Type == "Established" && c.Status == "True":
			return Current.Because("", "CRD is established").on(c), true
		}
	}
	return InProgress.Because("Installing", "Install in progress").At("status.conditions"), true
}
