package reconcile

// Upcoming returns the last call of the controller whose key is due first, with the due time of the
// key as its Time. Its Err and its Result say why the key is reconciled again; without both, an
// object has changed. Upcoming returns false if no key is due, or if a late event or the effect of
// a request is due before.
func (l *Loop) Upcoming() (TraceEvent, bool) {
	at, ok := l.NextDue()
	t, queued := l.queue.First()
	if !ok || !queued || t.At().After(at) {
		return TraceEvent{}, false
	}
	return TraceEvent{Time: t.At(), Controller: t.controller.Name, Name: t.name, Result: t.result, Err: t.err}, true
}
