package listwatch_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/internal/listwatch"
)

// TestAListOlderThanTheWatchIsRefused: after a watch has reported version 9, lists of version 4 are refused four times. The fifth is
// that of a cluster that was restored from a backup: what was known is void.
func TestAListOlderThanTheWatchIsRefused(t *testing.T) {
	for stale, want := range map[int]string{
		2: "listed found(a u) unlisted unlisted found(a u) found(b v) listed",
		4: "listed found(a u) unlisted unlisted unlisted unlisted found(a u) found(b v) listed",
		9: "listed found(a u) unlisted unlisted unlisted unlisted gone(a u) found(a u) listed",
	} {
		synctest.Test(t, func(t *testing.T) {
			lists := 0
			s := &script{
				list: func(metav1.ListOptions) (*unstructured.UnstructuredList, error) {
					switch lists++; {
					case lists == 1:
						return page("3", ""), nil
					case lists <= 1+stale:
						return page("4", "", object("a", "u", "4")), nil
					}
					return page("12", "", object("a", "u", "9"), object("b", "v", "12")), nil
				},
				watch: func(o metav1.ListOptions) (watch.Interface, error) {
					if o.ResourceVersion != "3" {
						return ending(time.Hour)
					}
					return ending(time.Second, watch.Event{Type: watch.Added, Object: object("a", "u", "9")}, watch.Event{Type: watch.Error, Object: &metav1.Status{Code: 410, Reason: metav1.StatusReasonExpired}})
				},
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			var o listwatch.Objects
			var told []string
			listwatch.Run(ctx, listwatch.Source{Lister: s, Watcher: s, Kind: kind}, options, func(e listwatch.Event) {
				for _, n := range o.Add(e) {
					if n.Type != listwatch.WatchFailed {
						word, _, _ := strings.Cut(text(n), "(the list is older")
						told = append(told, word)
					}
				}
			})
			require.Equal(t, want, strings.Join(told, " "), fmt.Sprint(stale))
		})
	}
}

// TestOlderStatesOfAnObject: they change nothing, and neither does the deletion of an earlier object of the name.
func TestOlderStatesOfAnObject(t *testing.T) {
	var o listwatch.Objects
	add := func(what listwatch.EventType, uid, version string) (news []string) {
		for _, n := range o.Add(listwatch.Event{Type: what, Object: object("a", uid, version)}) {
			news = append(news, text(n))
		}
		return news
	}
	require.Equal(t, []string{"found(a 1)"}, add(listwatch.Updated, "1", "5"))
	require.Empty(t, add(listwatch.Updated, "1", "4"))
	require.Equal(t, []string{"found(a 1)"}, add(listwatch.Updated, "1", "5"))
	require.Equal(t, []string{"gone(a 1)", "found(a 2)"}, add(listwatch.Updated, "2", "8"))
	require.Empty(t, add(listwatch.Deleted, "1", "7"))
	require.Empty(t, add(listwatch.Updated, "1", "6"))
	require.Equal(t, []string{"found(a 2)"}, add(listwatch.Updated, "2", "of no order"))
	require.Equal(t, []string{"gone(a 2)"}, add(listwatch.Deleted, "2", "3"))
}
