package player

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/listwatch"
	"github.com/stagecraft-go/stagecraft/stage/transport"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// A Store keeps the content of revisions.
type Store interface {
	// Read returns a snapshot. The error is a NotFound of apimachinery if it is not there.
	Read(ctx context.Context, policy string, id fleet.RevisionID) (fleet.Snapshot, error)
	// Write stores a snapshot that belongs to the StagedBindingPolicy of a UID. It may be there.
	Write(ctx context.Context, policy string, owner types.UID, s fleet.Snapshot) error
	// Prune removes all snapshots of a policy but some.
	Prune(ctx context.Context, policy string, keep []fleet.RevisionID) error
}

// SnapshotNamespace is the namespace of the objects that NewStore writes. It must exist.
const SnapshotNamespace = fleet.SnapshotNamespace

// The kinds of the objects of a store, and their limits.
var (
	controllerRevisionKind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ControllerRevision"}
	secretKind             = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
)

const (
	chunkSize   = 512 << 10
	mostChunks  = 16
	policyLabel = v1alpha1.Group + "/policy"
)

// A hubStore keeps snapshots in ControllerRevisions, whose data cannot be changed, and
// snapshots with a Secret in immutable Secrets.
type hubStore struct{ hub transport.Transport }

// NewStore returns a Store of objects on a hub, in the namespace SnapshotNamespace.
func NewStore(hub transport.Transport) Store {
	return &hubStore{listwatch.Bounded(hub, listwatch.RequestTimeout)}
}

// nameOfChunk is <policy>-<12 digits>-<n>.
func nameOfChunk(policy string, id fleet.RevisionID, n int) types.NamespacedName {
	digits := strings.TrimPrefix(string(id), "sha256:")
	return types.NamespacedName{Namespace: SnapshotNamespace, Name: fmt.Sprintf("%s-%s-%d", policy, digits[:min(12, len(digits))], n)}
}

func (s *hubStore) Write(ctx context.Context, policy string, owner types.UID, snapshot fleet.Snapshot) error {
	data, err := snapshot.Encode()
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(data); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	text := base64.StdEncoding.EncodeToString(packed.Bytes())
	count := max(1, (len(text)+chunkSize-1)/chunkSize)
	if count > mostChunks {
		return nil // too large to be kept: it can be rolled out and recognized, not gone back to
	}
	for n := range count {
		chunk := text[n*chunkSize : min(len(text), (n+1)*chunkSize)]
		obj := s.object(snapshot, nameOfChunk(policy, snapshot.Revision, n), chunk, count)
		obj.SetLabels(map[string]string{policyLabel: policy})
		obj.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.Kind, Name: policy, UID: owner}})
		if _, err := s.hub.Create(ctx, obj, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

// object returns the object of one chunk.
func (s *hubStore) object(snapshot fleet.Snapshot, name types.NamespacedName, chunk string, count int) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"revision": int64(1),
		"data": map[string]any{"chunk": chunk, "chunks": strconv.Itoa(count), "digest": string(snapshot.Revision)}}}
	obj.SetGroupVersionKind(controllerRevisionKind)
	if holdsSecret(snapshot) {
		delete(obj.Object, "revision")
		obj.SetGroupVersionKind(secretKind)
		encoded := map[string]any{}
		for key, value := range obj.Object["data"].(map[string]any) {
			encoded[key] = base64.StdEncoding.EncodeToString([]byte(value.(string)))
		}
		obj.Object["data"], obj.Object["immutable"], obj.Object["type"] = encoded, true, "Opaque"
	}
	obj.SetNamespace(name.Namespace)
	obj.SetName(name.Name)
	return obj
}

func holdsSecret(s fleet.Snapshot) bool {
	for _, obj := range s.Objects {
		if obj.GroupVersionKind() == secretKind {
			return true
		}
	}
	return false
}

// chunk reads one chunk, and how many there are.
func (s *hubStore) chunk(ctx context.Context, policy string, id fleet.RevisionID, n int) (text string, count int, err error) {
	var obj *unstructured.Unstructured
	for _, kind := range []schema.GroupVersionKind{controllerRevisionKind, secretKind} {
		if obj, err = s.hub.Get(ctx, kind, nameOfChunk(policy, id, n)); err == nil || !apierrors.IsNotFound(err) {
			break
		}
	}
	if err != nil {
		return "", 0, err
	}
	read := func(key string) string {
		value, _, _ := unstructured.NestedString(obj.Object, "data", key)
		if obj.GroupVersionKind() == secretKind {
			raw, _ := base64.StdEncoding.DecodeString(value)
			return string(raw)
		}
		return value
	}
	count, err = strconv.Atoi(read("chunks"))
	return read("chunk"), count, err
}

func (s *hubStore) Read(ctx context.Context, policy string, id fleet.RevisionID) (fleet.Snapshot, error) {
	var text strings.Builder
	for n, count := 0, 1; n < count; n++ {
		part, of, err := s.chunk(ctx, policy, id, n)
		if err != nil {
			return fleet.Snapshot{}, err
		}
		count = min(of, mostChunks)
		text.WriteString(part)
	}
	packed, err := base64.StdEncoding.DecodeString(text.String())
	if err != nil {
		return fleet.Snapshot{}, err
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return fleet.Snapshot{}, err
	}
	data, err := io.ReadAll(io.LimitReader(r, mostChunks*chunkSize*100))
	if err != nil {
		return fleet.Snapshot{}, err
	}
	return fleet.DecodeSnapshot(id, data)
}

func (s *hubStore) Prune(ctx context.Context, policy string, keep []fleet.RevisionID) error {
	needed := map[string]bool{}
	for _, id := range keep {
		name := nameOfChunk(policy, id, 0).Name
		needed[strings.TrimSuffix(name, "-0")] = true
	}
	for _, kind := range []schema.GroupVersionKind{controllerRevisionKind, secretKind} {
		list, err := s.hub.List(ctx, kind, SnapshotNamespace, metav1.ListOptions{LabelSelector: policyLabel + "=" + policy})
		if err != nil {
			return err
		}
		for i := range list.Items {
			name := list.Items[i].GetName()
			if needed[name[:max(0, strings.LastIndex(name, "-"))]] {
				continue
			}
			if err := s.hub.Delete(ctx, kind, types.NamespacedName{Namespace: SnapshotNamespace, Name: name}, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
	}
	return nil
}
