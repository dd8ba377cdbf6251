package apiserver

import (
	"context"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/attributes"
	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/certificates"
	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/tokens"
)

// prepareSigners makes what signs tokens and certificates. Without credentials both are the same each
// time.
func (s *Server) prepareSigners() (err error) {
	if s.signer, err = tokens.New(s.credentials.secret == nil); err != nil {
		return err
	}
	s.credentials.now = s.cluster.Now
	s.certifiers = certificates.Controllers{Authority: s.credentials.authority, May: s.mayAsk, Now: s.cluster.Now}
	if s.certifiers.Root == nil {
		s.certifiers.Authority, err = certificates.Repeated()
	}
	return err
}

// certifierName is the field manager of the controllers of certificates.
const certifierName = "kube-controller-manager"

// certify does what csrapproving and csrsigning of kube-controller-manager do: it approves a request for
// a certificate that they approve, and signs an approved one.
func (s *Server) certify(ctx context.Context, name string) error {
	ctx = request.WithUser(ctx, admin)
	for range 2 { // approved, then signed
		stored, err := s.cluster.Get(ctx, certificates.Kind, types.NamespacedName{Name: name})
		if err != nil {
			return err
		}
		asked := &certificatesv1.CertificateSigningRequest{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(stored.Object, asked); err != nil {
			return err
		}
		next, subresource, err := s.certifiers.Next(asked)
		if err != nil || next == nil {
			return err
		}
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(next)
		if err != nil {
			return err
		}
		as := attributes.WithRequest(ctx, attributes.Request{FieldManager: certifierName, Subresource: subresource})
		if _, err := s.cluster.Update(as, &unstructured.Unstructured{Object: fields}, metav1.UpdateOptions{FieldManager: certifierName}, "status"); err != nil {
			return err
		}
	}
	return nil
}

// mayAsk reports whether the user of a request for a certificate may create a subresource of requests,
// by which kubelets get their certificates.
func (s *Server) mayAsk(asked *certificatesv1.CertificateSigningRequest, subresource string) bool {
	if s.roles == nil {
		return true
	}
	u := &user.DefaultInfo{Name: asked.Spec.Username, UID: asked.Spec.UID, Groups: asked.Spec.Groups, Extra: map[string][]string{}}
	for key, values := range asked.Spec.Extra {
		u.Extra[key] = values
	}
	decision, _, err := s.roles.Authorize(context.Background(), authorizer.AttributesRecord{User: u, Verb: "create", ResourceRequest: true,
		APIGroup: certificatesv1.GroupName, APIVersion: "*", Resource: "certificatesigningrequests", Subresource: subresource})
	return err == nil && decision == authorizer.DecisionAllow
}
