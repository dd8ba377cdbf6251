package containers

// WithMaxLines returns options whose logs have at most n lines until now.
func WithMaxLines(o Options, n int) Options {
	o.maxLines = n
	return o
}

// Remembered returns how many Nodes a meter remembers.
func Remembered(m *Meter) int { return len(m.nodes) }
