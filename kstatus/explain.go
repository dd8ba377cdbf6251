package kstatus

type trace struct{}

func (t *trace) see(path string, v any) {}
