package kstatus

// A mark is what the first pass over the conditions keeps of one: its type, if it is one of those that rules ask for most, and its status.
// A look-up in a condition costs as much as a rule does otherwise, so that no condition is looked up twice to be passed over.
type mark uint8

// The statuses are the low bits of a mark, the types the others. The type of conditions that cannot be read is other.
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
)

func (m mark) kind() mark { return m &^ statusBits }

var (
	markKinds = [...]string{
		isReady >> 2: "Ready", isAvailable >> 2: "Available", isProgressing >> 2: "Progressing", isScheduled >> 2: "PodScheduled",
		isReplicaFailure >> 2: "ReplicaFailure", isComplete >> 2: "Complete", isFailed >> 2: "Failed", isReconciling >> 2: Reconciling,
		isStalled >> 2: Stalled,
	}
	markStatuses = [...]string{isTrue: "True", isFalse: "False"}
)

// markOf is the mark of a condition, or false for what is none.
func markOf(item any) (mark, bool) {
	fields, ok := mapOf(item)
	kind, typed := optional(fields["type"])
	status, known := statusMark(fields["status"])
	if !ok || !typed || !known {
		return other, false
	}
	return typeMark(kind) | status, true
}

// statusMark is the mark of a status, or false for what is none.
func statusMark(v any) (mark, bool) {
	status, known := truth(v)
	switch status {
	case "True":
		return isTrue, known
	case "False":
		return isFalse, known
	}
	return isOther, known
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
	fields, _ := mapOf(o.conditions[i])
	return glance{fields, markKinds[m>>2], markStatuses[m&statusBits]}, true
}

// reason returns the reason of a condition.
func (o *Object) reason(i int) string {
	fields, _ := mapOf(o.conditions[i])
	s, _ := fields["reason"].(string)
	return s
}

// mark returns the mark of a condition.
func (o *Object) mark(i int) mark {
	if i < len(o.marks) {
		return o.marks[i]
	}
	m, _ := markOf(o.conditions[i])
	return m
}
