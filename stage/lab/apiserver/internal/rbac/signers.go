package rbac

import (
	"fmt"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/attributes"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// checkSigner does what the admission plugins CertificateApproval and CertificateSigning do: a
// user that approves a request for a certificate, or signs it, must have the right for its signer.
func (x *Index) checkSigner(v *memory.Review, u user.Info) error {
	var before, next certificatesv1.CertificateSigningRequest
	convert := runtime.DefaultUnstructuredConverter
	if v.Old == nil || convert.FromUnstructured(v.Old.Object, &before) != nil || convert.FromUnstructured(v.New.Object, &next) != nil {
		return nil // refused as invalid
	}
	verb := "sign"
	switch {
	case attributes.SubresourceOf(v) == "approval":
		verb = "approve"
	case equality.Semantic.DeepEqual(before.Status, next.Status):
		return nil
	}
	signer := before.Spec.SignerName
	domain, _, _ := strings.Cut(signer, "/")
	for _, name := range []string{signer, domain + "/*"} {
		a := authorizer.AttributesRecord{User: u, Verb: verb, Name: name, APIGroup: certificatesv1.GroupName, APIVersion: "*", Resource: "signers", ResourceRequest: true}
		if decision, _, _ := x.Authorize(v.Context(), a); decision == authorizer.DecisionAllow {
			return nil
		}
	}
	return apierrors.NewForbidden(v.Resource, v.Name.Name, fmt.Errorf("user not permitted to %s requests with signerName %q", verb, signer))
}
