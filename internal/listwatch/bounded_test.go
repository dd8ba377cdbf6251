package listwatch_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/listwatch"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// A deaf transport answers no request until its context ends.
type deaf struct{ transport.Transport }

func (deaf) Get(ctx context.Context, _ schema.GroupVersionKind, _ types.NamespacedName) (*unstructured.Unstructured, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (deaf) List(ctx context.Context, _ schema.GroupVersionKind, _ string, _ metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (deaf) Create(ctx context.Context, _ *unstructured.Unstructured, _ metav1.CreateOptions) (*unstructured.Unstructured, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (deaf) Patch(ctx context.Context, _ schema.GroupVersionKind, _ types.NamespacedName, _ types.PatchType, _ []byte, _ metav1.PatchOptions, _ ...string) (*unstructured.Unstructured, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (deaf) Delete(ctx context.Context, _ schema.GroupVersionKind, _ types.NamespacedName, _ metav1.DeleteOptions) error {
	<-ctx.Done()
	return ctx.Err()
}

var podKind = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}

func pod(name string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetGroupVersionKind(podKind)
	obj.SetNamespace("default")
	obj.SetName(name)
	return obj
}

// requests are all requests but the watch.
func requests(of transport.Transport) map[string]func(context.Context) error {
	name := types.NamespacedName{Namespace: "default", Name: "a"}
	return map[string]func(context.Context) error{
		"get": func(ctx context.Context) error { _, err := of.Get(ctx, podKind, name); return err },
		"list": func(ctx context.Context) error {
			_, err := of.List(ctx, podKind, "", metav1.ListOptions{})
			return err
		},
		"create": func(ctx context.Context) error {
			_, err := of.Create(ctx, pod("a"), metav1.CreateOptions{})
			return err
		},
		"patch": func(ctx context.Context) error {
			_, err := of.Patch(ctx, podKind, name, types.MergePatchType, []byte("{}"), metav1.PatchOptions{})
			return err
		},
		"delete": func(ctx context.Context) error { return of.Delete(ctx, podKind, name, metav1.DeleteOptions{}) },
	}
}

// TestRequestsWithoutAnAnswerEnd checks that each request ends at the timeout, or with its context.
func TestRequestsWithoutAnAnswerEnd(t *testing.T) {
	for name, request := range requests(listwatch.Bounded(deaf{}, time.Minute)) {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			require.ErrorIs(t, request(t.Context()), context.DeadlineExceeded, name)
			require.Equal(t, time.Minute, time.Since(began), name)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			began = time.Now()
			require.Error(t, request(ctx), name)
			require.Equal(t, time.Second, time.Since(began), name)
		})
	}
}

// A mad transport panics.
type mad struct{ transport.Transport }

// TestPanicsOfRequestsAreErrors checks it for each request: the embedded transport is nil.
func TestPanicsOfRequestsAreErrors(t *testing.T) {
	for name, request := range requests(listwatch.Bounded(mad{}, time.Minute)) {
		var panicked *listwatch.PanicError
		require.ErrorAs(t, request(t.Context()), &panicked, name)
	}
}

// A confused transport answers with another object, or with none.
type confused struct {
	transport.Transport
	answer *unstructured.Unstructured
}

func (c confused) Get(context.Context, schema.GroupVersionKind, types.NamespacedName) (*unstructured.Unstructured, error) {
	return c.answer, nil
}

func (c confused) List(context.Context, schema.GroupVersionKind, string, metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	return nil, nil
}

func (c confused) Create(context.Context, *unstructured.Unstructured, metav1.CreateOptions) (*unstructured.Unstructured, error) {
	return c.answer, nil
}

func (c confused) Patch(context.Context, schema.GroupVersionKind, types.NamespacedName, types.PatchType, []byte, metav1.PatchOptions, ...string) (*unstructured.Unstructured, error) {
	return c.answer, nil
}

// TestAnswersOfOtherObjectsAreErrors checks kind, namespace, name and uid, where the request knows them.
func TestAnswersOfOtherObjectsAreErrors(t *testing.T) {
	secret, elsewhere := pod("a"), pod("a")
	secret.SetKind("Secret")
	elsewhere.SetNamespace("other")
	for _, answer := range []*unstructured.Unstructured{nil, pod("b"), secret, elsewhere} {
		all := requests(listwatch.Bounded(confused{answer: answer}, time.Minute))
		delete(all, "delete")
		for name, request := range all {
			require.Error(t, request(t.Context()), "%s: %v", name, answer)
		}
	}
	right := requests(listwatch.Bounded(confused{answer: pod("a")}, time.Minute))
	require.NoError(t, right["get"](t.Context()))
	name := types.NamespacedName{Namespace: "default", Name: "a"}
	require.NoError(t, listwatch.Answers(pod("a"), podKind, name, ""))
	require.ErrorContains(t, listwatch.Answers(pod("a"), podKind, name, "u"), "another object")
	generated := pod("")
	generated.SetGenerateName("a-")
	_, err := listwatch.Bounded(confused{answer: pod("a-1")}, time.Minute).Create(t.Context(), generated, metav1.CreateOptions{})
	require.NoError(t, err, "the server makes the name")
	_, err = listwatch.Bounded(confused{answer: pod("b-1")}, time.Minute).Create(t.Context(), generated, metav1.CreateOptions{})
	require.Error(t, err)
	scale := pod("a")
	scale.SetGroupVersionKind(schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"})
	scaled := listwatch.Bounded(confused{answer: scale}, time.Minute)
	_, err = scaled.Patch(t.Context(), podKind, name, types.MergePatchType, nil, metav1.PatchOptions{}, "scale")
	require.NoError(t, err, "the answer has the kind of the subresource")
	_, err = scaled.Patch(t.Context(), podKind, name, types.MergePatchType, nil, metav1.PatchOptions{}, "status")
	require.Error(t, err)
	untyped := pod("a")
	delete(untyped.Object, "kind")
	delete(untyped.Object, "apiVersion")
	require.NoError(t, listwatch.Answers(untyped, podKind, name, ""))
}
