package memory

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/internal/patch"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

type fieldErrors = field.ErrorList

var metadataPath = field.NewPath("metadata")

var namespaces = schema.GroupResource{Resource: "namespaces"}

// nameIsText refuses a name that YAML 1.1 reads as another type: n, no, y and 1 without quotes.
func nameIsText(metadata map[string]any) fieldErrors {
	switch name := metadata["name"].(type) {
	case bool:
		return fieldErrors{field.TypeInvalid(metadataPath.Child("name"), name, fmt.Sprintf("it is the boolean %v, as YAML 1.1 reads n, no, off, y, yes and on: quote it", name))}
	case int64, float64:
		return fieldErrors{field.TypeInvalid(metadataPath.Child("name"), name, fmt.Sprintf("it is the number %v: quote it", name))}
	}
	return nil
}

// checkNames checks the name by the rule of the kind, and the namespace by its scope.
func (k *kind) checkNames(name types.NamespacedName) (faults fieldErrors) {
	if name.Name == "" {
		return append(faults, field.Required(metadataPath.Child("name"), "name or generateName is required"))
	}
	for _, text := range k.nameFaults(name.Name) {
		faults = append(faults, field.Invalid(metadataPath.Child("name"), name.Name, text))
	}
	if len(faults) > 0 && k.groupResource() == namespaces { // its name is also a label
		for _, text := range validation.IsValidLabelValue(name.Name) {
			faults = append(faults, field.Invalid(metadataPath.Child("labels"), name.Name, text))
		}
	}
	if !k.ClusterScoped && name.Namespace == "" {
		faults = append(faults, field.Required(metadataPath.Child("namespace"), ""))
	}
	if name.Namespace != "" {
		for _, text := range labelFaults(name.Namespace) {
			faults = append(faults, field.Invalid(metadataPath.Child("namespace"), name.Namespace, text))
		}
	}
	return faults
}

// nameFaults returns the faults of a name by the rule of the kind, as in the functions
// Validate…Name of k8s.io/kubernetes/pkg/apis/*/validation.
func (k *kind) nameFaults(name string) []string {
	switch {
	case k.has(freeNames):
		return segmentFaults(name)
	case k.has(labelNames):
		return labelFaults(name)
	case isSubdomain(name):
		return nil
	default:
		return validation.IsDNS1123Subdomain(name)
	}
}

// segmentFaults says why a name is not a segment of a path.
func segmentFaults(name string) (faults []string) {
	if name == "." || name == ".." {
		return []string{"may not be '" + name + "'"}
	}
	for _, c := range []string{"/", "%"} {
		if strings.Contains(name, c) {
			faults = append(faults, "may not contain '"+c+"'")
		}
	}
	return faults
}

func labelFaults(name string) []string {
	if isLabel(name) {
		return nil
	}
	return validation.IsDNS1123Label(name)
}

// isSubdomain returns true for most valid names, so that the slower regular expressions of package
// validation are not needed for them.
func isSubdomain(name string) bool {
	for len(name) <= validation.DNS1123SubdomainMaxLength {
		label, rest, more := strings.Cut(name, ".")
		if !isLabel(label) {
			return false
		}
		if !more {
			return true
		}
		name = rest
	}
	return false
}

// isLabel is isSubdomain without dots.
func isLabel(name string) bool {
	if name == "" || len(name) > validation.DNS1123LabelMaxLength || name[0] == '-' || name[len(name)-1] == '-' {
		return false
	}
	for i := range len(name) {
		if c := name[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

// checkNamespace refuses new objects in a namespace that is being deleted. With
// Options.RequireNamespaces it also refuses them in a missing namespace.
func (r *request) checkNamespace() error {
	if r.Name.Namespace == "" {
		return nil
	}
	ns := r.tables[namespaces].records[types.NamespacedName{Name: r.Name.Namespace}]
	switch {
	case ns == nil && r.options.RequireNamespaces:
		return apierrors.NewNotFound(namespaces, r.Name.Namespace)
	case ns != nil && ns.object().GetDeletionTimestamp() != nil:
		err := apierrors.NewForbidden(r.resource(), r.Name.Name, fmt.Errorf("unable to create new content in namespace %s because it is being terminated", r.Name.Namespace))
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: "NamespaceTerminating", Message: "namespace " + r.Name.Namespace + " is being terminated", Field: "metadata.namespace"}}
		return err
	}
	return nil
}

// checkUpdate returns the changes of metadata that are forbidden for every update.
func checkUpdate(before, next map[string]any) (faults fieldErrors) {
	immutable := func(name string, given bool) {
		if given && !patch.Equal(before[name], next[name]) {
			faults = append(faults, field.Invalid(metadataPath.Child(name), next[name], "field is immutable"))
		}
	}
	immutable("uid", next["uid"] != nil && next["uid"] != "")
	immutable("deletionGracePeriodSeconds", next["deletionGracePeriodSeconds"] != nil)
	if before["deletionTimestamp"] == nil {
		immutable("deletionTimestamp", next["deletionTimestamp"] != nil)
		return faults
	}
	old := map[string]bool{} // an object can have many
	for _, f := range finalizersOf(before) {
		old[f] = true
	}
	for _, f := range finalizersOf(next) {
		if !old[f] {
			faults = append(faults, field.Forbidden(metadataPath.Child("finalizers"), fmt.Sprintf("no new finalizers can be added if the object is being deleted, found new finalizers %q", f)))
		}
	}
	return faults
}

// versionGiven is the error for an object that is created with a resourceVersion. It has no reason,
// as in an API server.
func versionGiven() error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: "resourceVersion should not be set on objects to be created",
	}}
}

func (r *request) mustHaveVersion() error {
	fault := field.Invalid(metadataPath.Child("resourceVersion"), 0, "must be specified for an update")
	resource := r.resource() // the resource instead of the kind, as in an API server
	return apierrors.NewInvalid(schema.GroupKind{Group: resource.Group, Kind: resource.Resource}, r.Name.Name, fieldErrors{fault})
}

// checkSameKind refuses a body whose kind is not the request's. It also refuses another version,
// except the storage version. The error has no status yet.
func (r *request) checkSameKind(root map[string]any, stored any) error {
	version, kind := root["apiVersion"], root["kind"]
	if kind == r.kind.Kind.Kind && (version == r.kind.apiVersion || version == stored && stored != nil) {
		return nil
	}
	return fmt.Errorf("the kind of the object (%v, %v) does not match the one of the request (%s)", version, kind, r.kind.GroupVersionKind)
}

// checkSameObject refuses a body that names another object than the request. The body of an apply
// may leave out its name.
func (r *request) checkSameObject(root map[string]any) error {
	name, _ := object.String(root, "metadata", "name")
	namespace, _ := object.String(root, "metadata", "namespace")
	switch {
	case name != r.Name.Name && (name != "" || !r.applies()):
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", name, r.Name.Name))
	case namespace != r.Name.Namespace && (namespace != "" || !r.applies()):
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	return nil
}

// unprocessable is the error for a patch that cannot be applied to the object.
func unprocessable(err error) error {
	return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
}

// uid returns a uid that depends on the seed, on the resource and name, and on the number of
// earlier objects there. It is the same in every run, and no two objects of one name have the same
// uid.
func (s *store) uid(t *table, name types.NamespacedName) string {
	return s.uidOf(t, name, t.incarnations.of(name))
}

// uidOf returns the uid of the n-th object of that name.
func (s *store) uidOf(t *table, name types.NamespacedName, n uint64) string {
	h := s.hash(n, "uid", t.name, name.String())
	h[6] = h[6]&0x0f | 0x40
	h[8] = h[8]&0x3f | 0x80
	return uidText([16]byte(h[:16]))
}

func uidText(id [16]byte) string {
	text := []byte("00000000-0000-0000-0000-000000000000")
	from := 0
	for _, part := range [...]struct{ at, bytes int }{{0, 4}, {9, 2}, {14, 2}, {19, 2}, {24, 6}} {
		hex.Encode(text[part.at:], id[from:from+part.bytes])
		from += part.bytes
	}
	return string(text)
}

// letters are the letters of the suffixes that Kubernetes generates.
const letters = "bcdfghjklmnpqrstvwxz2456789"

// longestPrefix leaves room for the suffix in a DNS label.
const longestPrefix = 63 - 5

// generate returns an unused name that begins with the prefix.
func (r *request) generate(prefix string) string {
	prefix = prefix[:min(len(prefix), longestPrefix)]
	at := r.resource().String() + " " + r.Name.Namespace + " " + prefix
	for {
		h := r.hash(r.generated.of(at), "name", at)
		r.generated.add(at)
		name := []byte(prefix)
		for _, b := range h[:5] {
			name = append(name, letters[int(b)%len(letters)])
		}
		if r.kind.table.records[types.NamespacedName{Namespace: r.Name.Namespace, Name: string(name)}] == nil {
			return string(name)
		}
	}
}

func (s *store) hash(n uint64, words ...string) [sha256.Size]byte {
	text := binary.LittleEndian.AppendUint64(make([]byte, 0, 128), s.options.Seed)
	text = binary.LittleEndian.AppendUint64(text, n)
	for _, word := range words {
		text = append(append(text, word...), 0)
	}
	return sha256.Sum256(text)
}
