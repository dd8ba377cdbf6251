package memory_test

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// TestVersionsOfLists checks resourceVersion and resourceVersionMatch of lists by the rules of
// GetList in k8s.io/apiserver/pkg/storage/cacher and etcd3.
func TestVersionsOfLists(t *testing.T) {
	c := memory.New(memory.Options{})
	for i := range 4 {
		_, err := c.Create(t.Context(), mapNamed(fmt.Sprint("m", i), "1"), metav1.CreateOptions{})
		require.NoError(t, err)
	}
	old, err := c.List(t.Context(), configMap, "", metav1.ListOptions{})
	require.NoError(t, err)
	then := old.GetResourceVersion()
	require.NoError(t, c.Delete(t.Context(), configMap, at("m1"), metav1.DeleteOptions{}))
	_, err = c.Create(t.Context(), mapNamed("m4", "1"), metav1.CreateOptions{})
	require.NoError(t, err)
	list, err := c.List(t.Context(), configMap, "", metav1.ListOptions{})
	require.NoError(t, err)
	now := list.GetResourceVersion()
	const present, past = "m0 m2 m3 m4", "m0 m1 m2 m3"
	exact, notOlder := metav1.ResourceVersionMatchExact, metav1.ResourceVersionMatchNotOlderThan
	for name, want := range map[string]struct {
		o             metav1.ListOptions
		names, at     string
		code          int32
		message, more string
	}{
		"unset":              {o: metav1.ListOptions{}, names: present, at: now},
		"any":                {o: metav1.ListOptions{ResourceVersion: "0"}, names: present, at: now},
		"any, with a limit":  {o: metav1.ListOptions{ResourceVersion: "0", Limit: 2}, names: present, at: now},
		"at least":           {o: metav1.ListOptions{ResourceVersion: then}, names: present, at: now},
		"not older":          {o: metav1.ListOptions{ResourceVersion: then, ResourceVersionMatch: notOlder}, names: present, at: now},
		"not older, limit":   {o: metav1.ListOptions{ResourceVersion: then, ResourceVersionMatch: notOlder, Limit: 3}, names: "m0 m2 m3", at: now, more: "m4"},
		"exactly then":       {o: metav1.ListOptions{ResourceVersion: then, ResourceVersionMatch: exact}, names: past, at: then},
		"exactly now":        {o: metav1.ListOptions{ResourceVersion: now, ResourceVersionMatch: exact}, names: present, at: now},
		"exactly, selected":  {o: metav1.ListOptions{ResourceVersion: then, ResourceVersionMatch: exact, FieldSelector: "metadata.name=m1"}, names: "m1", at: then},
		"limit then (exact)": {o: metav1.ListOptions{ResourceVersion: then, Limit: 3}, names: "m0 m1 m2", at: then, more: "m3"},
		"negative":           {o: metav1.ListOptions{ResourceVersion: "-1"}, code: 400, message: `invalid resource version: resourceVersion: Invalid value: "-1": strconv.ParseUint: parsing "-1": invalid syntax`},
		"no number":          {o: metav1.ListOptions{ResourceVersion: "x", ResourceVersionMatch: exact}, code: 400, message: `invalid resource version: resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax`},
		"of the future":      {o: metav1.ListOptions{ResourceVersion: "99"}, code: 504, message: "Timeout: Too large resource version: 99, current: " + now},
		"exactly the future": {o: metav1.ListOptions{ResourceVersion: "99", ResourceVersionMatch: exact}, code: 504, message: "Timeout: Too large resource version: 99, current: " + now},
		"a forged page":      {o: metav1.ListOptions{Continue: forged("meta.k8s.io/v1", "77:1")}, code: 400, message: "invalid continue token: continue key is not valid"},
		"a negative page":    {o: metav1.ListOptions{Continue: forged("meta.k8s.io/v1", "1:-1")}, code: 400, message: "invalid continue token: continue key is not valid"},
		"a form of others":   {o: metav1.ListOptions{Continue: forged("v2", "1:1")}, code: 400, message: "invalid continue token: continue key is not valid: server does not recognize this encoded version v2"},
		"no token":           {o: metav1.ListOptions{Continue: "x"}, code: 400, message: "invalid continue token: continue key is not valid: illegal base64 data at input byte 0"},
		"a page of another":  {o: metav1.ListOptions{Continue: forged("meta.k8s.io/v1", "1:1"), ResourceVersion: "7"}, code: 400, message: "specifying resource version is not allowed when using continue"},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := c.List(t.Context(), configMap, "", want.o)
			if want.code != 0 {
				status := apierrors.APIStatus(nil)
				require.ErrorAs(t, err, &status)
				require.Equal(t, want.code, status.Status().Code)
				require.Equal(t, want.message, status.Status().Message)
				require.Equal(t, want.code == 504, apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge))
				return
			}
			require.NoError(t, err)
			require.Equal(t, want.names, namesOf(list))
			require.Equal(t, want.at, list.GetResourceVersion())
			require.Equal(t, want.more != "", list.GetContinue() != "")
			if want.more != "" {
				rest, err := c.List(t.Context(), configMap, "", metav1.ListOptions{Continue: list.GetContinue()})
				require.NoError(t, err)
				require.Equal(t, want.more, namesOf(rest))
				require.Equal(t, want.at, rest.GetResourceVersion())
			}
		})
	}
	require.NoError(t, c.CheckVersion(now))
	require.NoError(t, c.CheckVersion("0"))
	require.True(t, apierrors.HasStatusCause(c.CheckVersion("99"), metav1.CauseTypeResourceVersionTooLarge))
	require.ErrorContains(t, c.CheckVersion("x"), `resourceVersion: Invalid value: "x"`)
}

func namesOf(list *unstructured.UnstructuredList) string {
	var names []string
	for _, obj := range list.Items {
		names = append(names, obj.GetName())
	}
	return strings.Join(names, " ")
}

// TestEachPastStateIsAsItWas compares lists of earlier versions with what was listed then, and
// checks that older states than the history are Expired.
func TestEachPastStateIsAsItWas(t *testing.T) {
	c := memory.New(memory.Options{History: 20})
	states := map[string]string{}
	for i := range 100 {
		name := fmt.Sprint("m", i*7%11)
		switch obj, err := c.Get(t.Context(), configMap, at(name)); {
		case err != nil:
			_, err = c.Create(t.Context(), mapNamed(name, strconv.Itoa(i)), metav1.CreateOptions{})
			require.NoError(t, err)
		case i%3 == 0:
			require.NoError(t, c.Delete(t.Context(), configMap, at(name), metav1.DeleteOptions{}))
		default:
			require.NoError(t, unstructured.SetNestedField(obj.Object, strconv.Itoa(i), "data", "n"))
			_, err = c.Update(t.Context(), obj, metav1.UpdateOptions{})
			require.NoError(t, err)
		}
		list, err := c.List(t.Context(), configMap, "", metav1.ListOptions{})
		require.NoError(t, err)
		states[list.GetResourceVersion()] = fmt.Sprint(list.Items)
	}
	found, expired := 0, 0
	for version, want := range states {
		list, err := c.List(t.Context(), configMap, "", metav1.ListOptions{ResourceVersion: version, ResourceVersionMatch: metav1.ResourceVersionMatchExact})
		if apierrors.IsResourceExpired(err) {
			expired++
			continue
		}
		require.NoError(t, err)
		require.Equal(t, version, list.GetResourceVersion())
		require.Equal(t, want, fmt.Sprint(list.Items))
		found++
	}
	require.GreaterOrEqual(t, found, 20)
	require.Positive(t, expired)
}

// TestAContinueIsForItsList checks that a token returns no objects of another kind or namespace.
func TestAContinueIsForItsList(t *testing.T) {
	c := memory.New(memory.Options{})
	for i := range 4 {
		_, err := c.Create(t.Context(), mapNamed(fmt.Sprint("m", i), "1"), metav1.CreateOptions{})
		require.NoError(t, err)
	}
	list, err := c.List(t.Context(), configMap, "default", metav1.ListOptions{Limit: 2})
	require.NoError(t, err)
	for _, other := range []struct {
		kind      schema.GroupVersionKind
		namespace string
	}{{pods, "default"}, {configMap, ""}, {configMap, "other"}} {
		_, err := c.List(t.Context(), other.kind, other.namespace, metav1.ListOptions{Continue: list.GetContinue()})
		require.True(t, apierrors.IsBadRequest(err), "%v", other)
	}
}

// TestLargeSelectors checks that a selector costs comparisons, whose number is limited, and that
// watches with large selectors see what they see with small ones.
func TestLargeSelectors(t *testing.T) {
	c := memory.New(memory.Options{})
	var values []string
	for i := range 90_000 {
		values = append(values, fmt.Sprint("v", i))
	}
	o := metav1.ListOptions{LabelSelector: "a notin (" + strings.Join(values, ",") + ")"}
	w, err := c.Watch(t.Context(), configMap, "", o)
	require.NoError(t, err)
	defer w.Stop()
	for i := range 1000 {
		_, err := c.Create(t.Context(), mapNamed(fmt.Sprint("m", i), "1"), metav1.CreateOptions{})
		require.NoError(t, err)
	}
	for i := range 1000 {
		require.Equal(t, fmt.Sprint("m", i), (<-w.ResultChan()).Object.(*unstructured.Unstructured).GetName())
	}
	list, err := c.List(t.Context(), configMap, "", o)
	require.NoError(t, err)
	require.Len(t, list.Items, 1000)
	for i := range 2000 {
		_, err := c.Create(t.Context(), mapNamed(fmt.Sprint("n", i), "1"), metav1.CreateOptions{})
		require.NoError(t, err)
	}
	_, err = c.List(t.Context(), configMap, "", o)
	require.True(t, apierrors.IsRequestEntityTooLargeError(err))
	require.ErrorContains(t, err, "the selectors have 90001 terms and values, for 3000 objects: the limit is 200000000 comparisons")
}

// forged returns a continue token.
func forged(form, start string) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"v": %q, "rv": 1, "start": %q}`, form, start))
}
