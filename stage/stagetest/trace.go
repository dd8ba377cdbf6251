package stagetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/internal/printable"
	"github.com/stagecraft-go/stagecraft/stage"
)

// A trace is the text that a story prints.
type trace struct {
	text  bytes.Buffer
	start time.Time
}

// line prints one line with the time since the start.
func (t *trace) line(now time.Time, format string, args ...any) {
	fmt.Fprintf(&t.text, "%-10s %s\n", "+"+short(now.Sub(t.start)), printable.Line(fmt.Sprintf(format, args...)))
}

// short prints a duration, truncated to milliseconds unless it is shorter than one.
func short(d time.Duration) string {
	if d >= time.Millisecond {
		d = d.Truncate(time.Millisecond)
	}
	return d.String()
}

// block prints text with every line indented.
func (t *trace) block(indent, text string) {
	for line := range strings.Lines(strings.TrimSuffix(text, "\n") + "\n") {
		t.text.WriteString(strings.TrimRight(indent+printable.Line(strings.TrimSuffix(line, "\n")), " ") + "\n")
	}
}

// event prints an event of the Engine.
func (t *trace) event(e stage.TraceEvent) {
	switch e.Kind {
	case stage.TraceScheduled:
		t.line(e.Time, "%s scheduled %s in %s%s", e.Key, e.Stage, short(e.Due.Sub(e.Time)), weight(e.Weight))
	case stage.TraceCancelled, stage.TracePlayed:
		t.line(e.Time, "%s %s %s", e.Key, e.Kind, e.Stage)
	case stage.TraceEffected:
		t.effect(e)
	case stage.TraceFailed:
		t.line(e.Time, "failed: %s", e.Err)
	case stage.TraceForgotten:
		t.line(e.Time, "%s gone", e.Key)
	}
}

func weight(n int64) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" (weight %d)", n)
}

// Effects are indented below the line of the transition, and their contents below them.
const (
	effectIndent  = "           "
	contentIndent = effectIndent + "  "
)

// effect prints an effect. It says if a patch was not sent because it changes nothing.
func (t *trace) effect(e stage.TraceEvent) {
	head, content := describe(e.Effect)
	if e.NoOp {
		head, content = head+" (changes nothing)", ""
	}
	t.block(effectIndent, head)
	if content != "" {
		t.block(contentIndent, content)
	}
}

// describe splits an effect into a line with its name, and its content: an object as YAML, or a
// JSON patch with one operation per line.
func describe(e stage.Effect) (head, content string) {
	switch e := e.(type) {
	case stage.Patch:
		head = strings.TrimSuffix(e.String(), " "+string(e.JSON()))
		if operations, ok := e.Data.([]any); ok {
			return head, perLine(operations)
		}
		return head, toYAML(e.Data)
	case stage.Apply:
		return strings.TrimSuffix(e.String(), " "+string(toJSON(e.Object.Object))), toYAML(e.Object.Object)
	default:
		return e.String(), ""
	}
}

func perLine(operations []any) string {
	var b strings.Builder
	for _, op := range operations {
		b.Write(toJSON(op))
		b.WriteByte('\n')
	}
	return b.String()
}

// toYAML and toJSON cannot fail, because their arguments are JSON values.
func toYAML(v any) string {
	text, err := yaml.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func toJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		return []byte(err.Error())
	}
	return text
}
