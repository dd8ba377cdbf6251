package memory

// PackFrom returns options with which idle objects are packed above a number of objects.
func (o Options) PackFrom(objects int) Options {
	o.packFrom = objects
	return o
}
