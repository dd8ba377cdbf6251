package memory

// PackFrom returns options by which idle objects are packed as soon as there are so many.
func (o Options) PackFrom(objects int) Options {
	o.packFrom = objects
	return o
}
