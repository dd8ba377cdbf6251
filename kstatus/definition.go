package kstatus

// definition is the rule for CustomResourceDefinitions.
func definition(o *Object) (Result, bool) {
	for _, item := range o.conditions {
		c, _ := look(item)
		switch {
		case c.is("NamesAccepted", "False", ""), c.is("Established", "False", "") && c.reason() != "Installing":
			return Failed.From(c.condition()), true
		case c.is("Established", "True", ""):
			return Current.Because("", "CRD is established").on(c), true
		}
	}
	return InProgress.Because("Installing", "Install in progress").At("status.conditions"), true
}
