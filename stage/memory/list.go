package memory

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// A listing is a request for a list.
type listing struct {
	selection
	notOlderThan uint64
	exactly      uint64 // the version of the list; 0: the present one
	limit        int64
	from         *place // the next page of an earlier list; nil: a new list
}

// newListing reads the options of a list as kube-apiserver does: ValidateListOptions of
// k8s.io/apiserver/pkg/storage.
func newListing(k *kind, namespace string, o metav1.ListOptions) (l listing, err error) {
	if l.selection, err = newSelection(k, namespace, o); err != nil {
		return l, err
	}
	l.limit = o.Limit
	if o.Continue != "" {
		return l, l.goOn(o)
	}
	version, err := parseVersion(o.ResourceVersion)
	if err != nil {
		return l, apierrors.NewBadRequest("invalid resource version: " + err.Error())
	}
	switch {
	case o.ResourceVersionMatch == metav1.ResourceVersionMatchExact:
		l.exactly = version
	case o.ResourceVersionMatch == "" && l.limit > 0 && version > 0:
		l.exactly = version
	case o.ResourceVersion == "0":
		l.limit = 0
	}
	l.notOlderThan = version
	return l, nil
}

// goOn reads the options of a further page.
func (l *listing) goOn(o metav1.ListOptions) (err error) {
	if l.from, err = parseToken(o.Continue); err == nil && !anyVersion(o.ResourceVersion) {
		err = apierrors.NewBadRequest("specifying resource version is not allowed when using continue")
	}
	if o.ResourceVersion == "0" {
		l.limit = 0
	}
	return err
}

// parseVersion reads a resourceVersion.
func parseVersion(s string) (uint64, error) {
	if anyVersion(s) {
		return 0, nil
	}
	v, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, field.Invalid(field.NewPath("resourceVersion"), s, err.Error())
	}
	return v, nil
}

// CheckVersion checks the resourceVersion of a request that reads one object, which must not be
// older. The error is a Timeout (504) for a version that the cluster does not have yet. It is an
// internal error (500) for a text that is not a version, as in an API server.
func (c *Cluster) CheckVersion(resourceVersion string) error {
	version, err := parseVersion(resourceVersion)
	if err != nil {
		return answer(err)
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	if version > c.version {
		return tooLarge(version, c.version)
	}
	return nil
}

// page returns a list or a part of it. It selects objects without the lock.
func (c *Cluster) page(ctx context.Context, gvk schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*kind, page, error) {
	c.mu.RLock()
	k, err := c.kindOf(gvk)
	c.mu.RUnlock()
	if err != nil {
		return nil, page{}, err
	}
	l, err := newListing(k, namespace, o)
	if err != nil {
		return nil, page{}, err
	}
	c.mu.Lock()
	var p page
	if l.from != nil {
		p, err = c.pages.next(l, k.table)
	} else {
		p, err = c.stateOf(k.table, l)
	}
	c.mu.Unlock()
	if err == nil && l.from == nil {
		p, err = c.firstPage(ctx, k, p, l)
	}
	if err == nil {
		p.objects, err = c.versions(ctx, k, p.objects)
	}
	return k, p, err
}

// firstPage selects from all objects. Selectors are for the version of the request.
func (c *Cluster) firstPage(ctx context.Context, k *kind, p page, l listing) (_ page, err error) {
	if k.converts() && l.selects() {
		if p.objects, err = c.versions(ctx, k, p.objects); err != nil {
			return p, err
		}
	}
	if p.objects, err = l.of(ctx, p.objects); err != nil || l.limit <= 0 || int(l.limit) >= len(p.objects) {
		return p, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pages.split(p, l.limit), nil
}

// stateOf returns all objects of a table in the namespace and at the version of a listing.
func (s *store) stateOf(t *table, l listing) (page, error) {
	p := page{version: s.version, of: t, namespace: l.namespace, bytes: t.bytes}
	switch {
	case l.notOlderThan > s.version:
		return p, tooLarge(l.notOlderThan, s.version)
	case l.exactly == 0 || l.exactly == s.version:
		p.objects = l.all(t)
		return p, nil
	case l.exactly < t.log.version:
		return p, apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.")
	}
	p.version, p.objects = l.exactly, l.at(t, l.exactly)
	return p, nil
}

// at returns the objects at an earlier version, from the events since then.
func (s selection) at(t *table, version uint64) (objs []*unstructured.Unstructured) {
	past := map[types.NamespacedName]*unstructured.Unstructured{} // of the objects that have changed since; nil: a missing object
	for i := len(t.log.events) - 1; i >= 0 && t.log.events[i].version > version; i-- {
		if e := t.log.events[i]; s.isIn(e.obj) {
			past[e.record.key] = e.old
		}
	}
	for _, r := range t.within(s.namespace) {
		if _, changed := past[r.key]; !changed {
			objs = append(objs, r.object())
		}
	}
	for _, obj := range past {
		if obj != nil {
			objs = append(objs, obj)
		}
	}
	slices.SortFunc(objs, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return objs
}

// page is a part of a list, or all of it.
type page struct {
	version   uint64
	objects   []*unstructured.Unstructured
	of        *table
	namespace string
	bytes     int    // of the table's objects, as far as they are known
	token     string // continue token of the next page; "" without one
	left      int    // objects in further pages
}

func (p page) header(k *kind) map[string]any {
	metadata := map[string]any{"resourceVersion": strconv.FormatUint(p.version, 10)}
	if p.token != "" {
		metadata["continue"] = p.token
		metadata["remainingItemCount"] = int64(p.left)
	}
	return map[string]any{"apiVersion": k.GroupVersion().String(), "kind": k.Kind.Kind + "List", "metadata": metadata}
}

// pages has the lists that clients read page by page.
type pages struct {
	lists [16]page
	count uint64
}

// split stores a list and returns its first page.
func (p *pages) split(all page, limit int64) page {
	p.count++
	p.lists[p.count%uint64(len(p.lists))] = all
	p.forget()
	return all.part(p.count, 0, int(limit))
}

// mostPaged is the limit of the bytes of the lists that are kept, in addition to the last two: the objects
// of a list can be removed or replaced long before its client reads the next page.
const mostPaged = 64 << 20

// forget forgets the oldest lists if they are too large together.
func (p *pages) forget() {
	const always = 2
	bytes := 0
	for age := uint64(always); age < uint64(len(p.lists)) && age <= p.count; age++ {
		list := &p.lists[(p.count-age)%uint64(len(p.lists))]
		if bytes += list.bytes; bytes > mostPaged {
			*list = page{}
		}
	}
}

// part returns the page that begins at an offset.
func (p page) part(number uint64, from, limit int) page {
	to := len(p.objects)
	if limit > 0 && limit < to-from {
		to = from + limit
	}
	part := page{version: p.version, objects: p.objects[from:to], left: len(p.objects) - to}
	if part.left > 0 {
		part.token = place{list: number, offset: to}.token(p.version)
	}
	return part
}

// next returns the page at a place. A place is for the list that it was made for.
func (p *pages) next(l listing, of *table) (page, error) {
	if l.from.list == 0 || l.from.list > p.count {
		return page{}, errToken("")
	}
	all := p.lists[l.from.list%uint64(len(p.lists))]
	switch {
	case l.from.list+uint64(len(p.lists)) <= p.count || all.of == nil:
		return page{}, apierrors.NewResourceExpired("The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.")
	case all.of != of || all.namespace != l.namespace || l.from.offset > len(all.objects):
		return page{}, errToken("")
	}
	return all.part(l.from.list, l.from.offset, int(l.limit)), nil
}

// A place is where a page begins: an offset in one of the lists that are kept.
type place struct {
	list   uint64
	offset int
}

// A token is a continue token, with the fields of kube-apiserver's.
type token struct {
	Form    string `json:"v"`
	Version uint64 `json:"rv"`
	Start   string `json:"start"`
}

const tokenForm = "meta.k8s.io/v1"

func (p place) token(version uint64) string {
	data, _ := json.Marshal(token{tokenForm, version, fmt.Sprintf("%d:%d", p.list, p.offset)})
	return base64.RawURLEncoding.EncodeToString(data)
}

// parseToken reads a continue token. Its errors are those of DecodeContinue in k8s.io/apiserver/pkg/storage.
func parseToken(text string) (*place, error) {
	data, err := base64.RawURLEncoding.DecodeString(text)
	var given token
	if err == nil {
		err = json.Unmarshal(data, &given)
	}
	switch {
	case err != nil:
		return nil, errToken(": " + err.Error())
	case given.Form != tokenForm:
		return nil, errToken(": server does not recognize this encoded version " + given.Form)
	}
	var p place
	list, offset, _ := strings.Cut(given.Start, ":")
	p.list, err = strconv.ParseUint(list, 10, 64)
	if err == nil {
		p.offset, err = strconv.Atoi(offset)
	}
	if err != nil || p.offset < 0 {
		return nil, errToken("")
	}
	return &p, nil
}

func errToken(why string) error {
	return apierrors.NewBadRequest("invalid continue token: continue key is not valid" + why)
}
