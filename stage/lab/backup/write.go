package backup

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// apiVersion is that of the format. A change that older readers would misunderstand gets another one.
const apiVersion = "stagecraft-go.github.io/v1"

const kind = "Backup"

// Write writes the Backup in its own format, as described in the package comment.
func (b *Backup) Write(to io.Writer) error {
	w := bufio.NewWriterSize(to, 1<<16)
	lines := []map[string]any{{
		"apiVersion": apiVersion, "kind": kind, "objects": int64(len(b.Objects)),
		"resourceVersion": b.ResourceVersion, "time": b.Time.UTC().Format(time.RFC3339Nano),
	}}
	for _, obj := range slices.SortedStableFunc(slices.Values(b.Objects), byName) {
		lines = append(lines, obj.Object)
	}
	var line []byte
	for i, fields := range lines {
		var err error
		if line, err = memory.AppendJSON(line[:0], fields); err != nil {
			return fmt.Errorf("backup: object %d: %w", i, err)
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return w.Flush()
}

func byName(a, b *unstructured.Unstructured) int {
	x, y := a.GroupVersionKind(), b.GroupVersionKind()
	return cmp.Or(cmp.Compare(x.Group, y.Group), cmp.Compare(x.Kind, y.Kind), cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
}
