package admission

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/quota"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// Plugins returns hooks that do what these admission plugins do, which kube-apiserver has by default
// and which need no controller: PodSecurity, RuntimeClass, PodTopologyLabels,
// PersistentVolumeClaimResize and CertificateSubjectRestriction.
func Plugins() memory.Hooks {
	return memory.Hooks{Name: "plugins", Admit: fillIn, Validate: check}
}

func fillIn(v *memory.Review) error {
	if v.Resource != pods || v.New == nil {
		return nil
	}
	if v.Old == nil && v.Subresource == "" {
		if err := applyRuntimeClass(v); err != nil {
			return err
		}
	}
	if v.Subresource == "" || v.Subresource == "binding" {
		copyTopology(v)
	}
	return nil
}

func check(v *memory.Review) error {
	switch {
	case v.New == nil || v.Subresource != "":
		return nil
	case v.Resource == claims:
		return checkResize(v)
	case v.Resource == certificateRequests && v.Old == nil:
		return checkSubject(v)
	}
	return checkPodSecurity(v)
}

// topologyLabels are the labels that a Pod has from its Node.
var topologyLabels = []string{"topology.kubernetes.io/zone", "topology.kubernetes.io/region"}

// copyTopology gives a Pod with a Node the zone and the region of the Node.
func copyTopology(v *memory.Review) {
	name := fields.String(v.New.Object, "spec", "nodeName")
	if name == "" {
		return
	}
	node := v.Get(kinds.Node, types.NamespacedName{Name: name})
	if node == nil {
		return
	}
	metadata, copied := fields.Map(v.New.Object, "metadata"), false
	labels, ofNode := fields.Map(metadata, "labels"), fields.Map(node.Object, "metadata", "labels")
	for _, key := range topologyLabels {
		value, has := ofNode[key]
		if !has || labels[key] == value {
			continue
		}
		if !copied { // most writes change nothing
			labels, copied = fields.CloneMap(metadata, "labels"), true
			metadata["labels"] = labels
		}
		labels[key] = value
	}
}

// checkResize refuses the growth of a claim that is not bound, or whose class does not allow it.
func checkResize(v *memory.Review) error {
	if v.Old == nil {
		return nil
	}
	before, next := quota.Requests(fields.Map(v.Old.Object, "spec"))["storage"], quota.Requests(fields.Map(v.New.Object, "spec"))["storage"]
	if next.Cmp(before) <= 0 {
		return nil
	}
	refuse := func(text string) error { return apierrors.NewForbidden(v.Resource, v.Name.Name, errors.New(text)) }
	if fields.String(v.Old.Object, "status", "phase") != "Bound" {
		return refuse("Only bound persistent volume claims can be expanded")
	}
	name := fields.String(v.New.Object, "spec", "storageClassName")
	class := v.Get(kinds.StorageClass, types.NamespacedName{Name: name})
	if name == "" || name != fields.String(v.Old.Object, "spec", "storageClassName") || class == nil || !fields.Bool(class.Object, "allowVolumeExpansion") {
		return refuse("only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize")
	}
	return nil
}

var certificateRequests = schema.GroupResource{Group: "certificates.k8s.io", Resource: "certificatesigningrequests"}

// checkSubject refuses a request for a certificate of an administrator.
func checkSubject(v *memory.Review) error {
	const signer = "kubernetes.io/kube-apiserver-client"
	if fields.String(v.New.Object, "spec", "signerName") != signer {
		return nil
	}
	data, err := base64.StdEncoding.DecodeString(fields.String(v.New.Object, "spec", "request"))
	if err != nil {
		return nil // refused as invalid
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil // refused as invalid
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return apierrors.NewForbidden(v.Resource, v.Name.Name, fmt.Errorf("failed to parse CSR: %w", err))
	}
	if slices.Contains(request.Subject.Organization, "system:masters") {
		return apierrors.NewForbidden(v.Resource, v.Name.Name, fmt.Errorf("use of %s signer with system:masters group is not allowed", signer))
	}
	return nil
}
