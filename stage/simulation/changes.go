package simulation

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage"
)

// A changes has the objects that the Engine must observe, in the order in which they changed.
// Usually it has one or two objects, so it builds the index only for a long list.
type changes struct {
	list  []change
	index map[stage.Key]int // into list; nil while the list is short
}

// A change is the newest state of an object that the engine has not observed yet.
type change struct {
	key  stage.Key
	obj  *unstructured.Unstructured
	gone bool // it was removed from the list
}

const (
	// fewChanges is the largest length of a list that is searched without an index.
	fewChanges = 8

	// keptChanges is the largest capacity of a list that is used again. The first list can be
	// larger, because it has all objects.
	keptChanges = 1 << 12
)

// put records the newest state of an object.
func (c *changes) put(key stage.Key, obj *unstructured.Unstructured) {
	if known := c.find(key); known != nil {
		known.obj = obj
		return
	}
	c.list = append(c.list, change{key: key, obj: obj})
	switch n := len(c.list); {
	case c.index != nil:
		c.index[key] = n - 1
	case n > fewChanges:
		c.makeIndex()
	}
}

// remove removes an object. It may be put again.
func (c *changes) remove(key stage.Key) {
	if known := c.find(key); known != nil {
		known.gone = true
		delete(c.index, key)
	}
}

// find returns the change of an object; nil without a change.
func (c *changes) find(key stage.Key) *change {
	if c.index != nil {
		if at, ok := c.index[key]; ok {
			return &c.list[at]
		}
		return nil
	}
	for i := range c.list {
		if known := &c.list[i]; !known.gone && known.key == key {
			return known
		}
	}
	return nil
}

func (c *changes) makeIndex() {
	c.index = map[stage.Key]int{}
	for i, known := range c.list {
		if !known.gone {
			c.index[known.key] = i
		}
	}
}

// clear empties the list.
func (c *changes) clear() {
	clear(c.list)
	c.list, c.index = c.list[:0], nil
	if cap(c.list) > keptChanges {
		c.list = nil
	}
}
