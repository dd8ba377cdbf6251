package apiserver

import (
	"encoding/json"
	"net/http"
	"runtime"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// streams reports whether a list is written object by object, so that its text is never in memory
// as a whole.
func (f form) streams() bool { return f.mediaType == jsonType && f.as == "" }

// streamed is how many bytes of a list are written at once.
const streamed = 64 << 10

// streamList answers with a list as JSON. It ends when the client has left. A fault after the answer
// has begun ends the connection, as in kube-apiserver.
func (c *call) streamList(list *unstructured.UnstructuredList) error {
	head, tail, err := c.frame(list)
	if err != nil {
		return err
	}
	begun := false
	flush := func(data []byte) bool {
		if !begun {
			c.w.Header().Set("Content-Type", c.form.contentType(""))
			begun = true
		}
		_, err := c.w.Write(data)
		return err == nil && c.ctx.Err() == nil
	}
	data := append(make([]byte, 0, usualLength), head...)
	for i := range list.Items {
		if i > 0 {
			data = append(data, ',')
		}
		if data, err = c.appendItem(data, &list.Items[i]); err != nil {
			if begun {
				panic(http.ErrAbortHandler)
			}
			return err
		}
		list.Items[i].Object = nil // it may have been made for this answer
		if len(data) >= streamed {
			if !flush(data) {
				return nil
			}
			data = data[:0]
			runtime.Gosched() // a list of megabytes lets others go on
		}
	}
	flush(append(data, tail...))
	return nil
}

// frame returns what stands before and after the items of a list.
func (c *call) frame(list *unstructured.UnstructuredList) (head, tail []byte, err error) {
	version, kind := list.GetAPIVersion(), list.GetKind()
	if c.of.storage != c.of.kind {
		version, kind = c.of.kind.GroupVersion().String(), c.of.kind.Kind+"List"
	}
	metadata, err := json.Marshal(list.Object["metadata"])
	if err != nil {
		return nil, nil, err
	}
	head, err = json.Marshal(map[string]string{"apiVersion": version})
	if err != nil {
		return nil, nil, err
	}
	head = append(head[:len(head)-1], `,"items":[`...)
	tail, err = json.Marshal(map[string]any{"kind": kind, "metadata": json.RawMessage(metadata)})
	return head, append(append([]byte("],"), tail[1:]...), '\n'), err
}

// appendItem appends an object as the version of the request shows it in a list.
func (c *call) appendItem(data []byte, item *unstructured.Unstructured) ([]byte, error) {
	u, err := c.read(item)
	if err != nil {
		return data, err
	}
	if c.of.hasGoType() {
		bare := []unstructured.Unstructured{*u}
		withoutKinds(bare)
		u = &bare[0]
	}
	return memory.AppendJSON(data, u.Object)
}
