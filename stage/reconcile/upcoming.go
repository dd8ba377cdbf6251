package reconcile

// Upcoming returns the last call of the controller whose key is due first, but with the Time at which
// the key is due. Its Err and its Result say why the key is looked at again; without both something
// has changed. It is false if no key is due, or if something else is due before it: an event that is
// seen late, or a request that takes time.
func (l *Loop) Upcoming() (TraceEvent, bool) {
	at, ok := l.NextDue()
	t, queued := l.queue.First()
	if !ok || !queued || t.At().After(at) {
		return TraceEvent{}, false
	}
	return TraceEvent{Time: t.At(), Controller: t.controller.Name, Name: t.name, Result: t.result, Err: t.err}, true
}
