package backup

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// A Backup is the objects of a cluster at one moment.
type Backup struct {
	// Time is the moment. A file without a time, such as one of kubectl, gets the latest time
	// at which something wrote one of the objects.
	Time time.Time
	// ResourceVersion is that of the cluster; "": not known. Then the highest of the objects counts.
	ResourceVersion string
	// Objects are in the version in which the file has them.
	Objects []*unstructured.Unstructured
	// Omissions are the objects of the files that are not in Objects.
	Omissions []Omission
}

// An Omission is an object that a file has and a Backup leaves out, or a kind of a cluster that could
// not be read.
type Omission struct {
	Position        stage.Position // zero without a file
	Kind            schema.GroupVersionKind
	Namespace, Name string // "": the whole kind
	Reason          string
}

// String returns the omission with its place, such as
// "all.json:14:5: PodMetrics default/web: left out: metrics.k8s.io/v1beta1 has no kind PodMetrics here".
func (o Omission) String() string {
	what := strings.TrimSuffix(o.Kind.Kind+" "+strings.TrimPrefix(o.Namespace+"/"+o.Name, "/"), " ")
	if o.Position != (stage.Position{}) {
		what = o.Position.String() + ": " + what
	}
	return what + ": left out: " + o.Reason
}

// Of returns the present state of a cluster.
func Of(c *memory.Cluster) *Backup {
	at := c.Fork() // so that all objects are of one moment
	list, _ := at.List(context.Background(), schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, "", metav1.ListOptions{})
	return &Backup{Time: at.Now(), ResourceVersion: list.GetResourceVersion(), Objects: slices.Collect(at.All())}
}

// Cluster returns a cluster in memory with the objects, see [memory.Restore]. Its clock is o.Now;
// default: it stands still at the Time of the Backup.
func (b *Backup) Cluster(o memory.Options) (*memory.Cluster, error) {
	if o.Now == nil {
		o.Now = func() time.Time { return b.Time }
	}
	c, err := memory.Restore(o, b.ResourceVersion, b.Objects...)
	if err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	return c, nil
}
