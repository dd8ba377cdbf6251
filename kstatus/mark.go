package kstatus

// A mark is what the first pass over the conditions keeps of one: its type, if it is one of those that rules ask for most, and its status.
// A look-up in a condition costs as much as a rule does otherwise, so that no condition is looked up twice to be passed over.
type mark uint8

// The statuses are the low bits of a mark, the types the others.
const (
	isOther mark = iota
	isTrue
	isFalse
	statusBits mark = 3
)

const (
	other mark = iota << 2
	isReady
	isAvailable
	isProgressing
	isScheduled
	isReplicaFailure
	isComplete
	isFailed
	isReconciling
	isStalled
	unreadable // of what is no condition
)

func (m mark) kind() mark { return m &^ statusBits }

// unusualMarks are those of conditions that decide by themselves or cannot be read.
const unusualMarks uint64 = 1<<(isReconciling|isTrue) | 1<<(isStalled|isTrue) | 1<<unreadable

// bit is the set of this mark alone.
func (m mark) bit() uint64 { return 1 << (m & 63) }

var (
	markKinds = [...]string{
		isReady >> 2: "Ready", isAvailable >> 2: "Available", isProgressing >> 2: "Progressing", isScheduled >> 2: "PodScheduled",
		isReplicaFailure >> 2: "ReplicaFailure", isComplete >> 2: "Complete", isFailed >> 2: "Failed", isReconciling >> 2: Reconciling,
		isStalled >> 2: Stalled,
	}
	markStatuses = [...]string{isTrue: "True", isFalse: "False"}
)

// markOf is the mark of a condition.
func markOf(item any) mark {
	g, ok := look(item)
	if !ok {
		return unreadable
	}
	return typeMark(g.kind) | statusMark(g.status)
}

// statusMark is the mark of a status.
func statusMark(status string) mark {
	switch status {
	case "True":
		return isTrue
	case "False":
		return isFalse
	}
	return isOther
}

// typeMark is the mark of conditions of a type.
func typeMark(kind string) mark {
	switch kind {
	case "Ready":
		return isReady
	case "Available":
		return isAvailable
	case "Progressing":
		return isProgressing
	case "PodScheduled":
		return isScheduled
	case "ReplicaFailure":
		return isReplicaFailure
	case "Complete":
		return isComplete
	case "Failed":
		return isFailed
	case Reconciling:
		return isReconciling
	case Stalled:
		return isStalled
	}
	return other
}

// glance is look for a condition whose mark may tell it.
func (o *Object) glance(i int) (glance, bool) {
	m := o.mark(i)
	if m.kind() == other || m&statusBits == isOther {
		return look(o.conditions[i])
	}
	return glance{fieldsOf(o.conditions[i]), markKinds[m>>2], markStatuses[m&statusBits]}, true
}

// mark returns the mark of a condition.
func (o *Object) mark(i int) mark {
	if i < len(o.marks) {
		return o.marks[i]
	}
	return markOf(o.conditions[i])
}

// has tells whether a condition has the mark.
func (o *Object) has(m mark) bool { return o.marked&m.bit() != 0 }

// holds tells whether a condition of a type, neither Reconciling nor Stalled, is True.
func (o *Object) holds(kind mark) bool {
	yes := o.has(kind | isTrue)
	if o.trace != nil {
		o.sawHolding(kind, yes)
	}
	return yes
}

func (o *Object) sawHolding(kind mark, yes bool) {
	g := glance{kind: markKinds[kind>>2]}
	if yes {
		g.status = "True"
	}
	o.sawStatus(g)
}
