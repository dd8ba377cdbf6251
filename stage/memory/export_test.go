package memory

// Crowded returns options by which so many objects are a crowd.
func (o Options) Crowded(objects int) Options {
	o.crowd = objects
	return o
}
