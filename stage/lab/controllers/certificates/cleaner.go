// Package certificates has the controller that deletes old CertificateSigningRequests, as
// kube-controller-manager has it. The server of stage/lab/apiserver approves and signs them.
//
// # Usage
//
//	controllers := []reconcile.Controller{certificates.Cleaner()}
//
// # Concurrency
//
// The controller belongs to one loop.
//
// # Compatibility
//
// kube-controller-manager looks once an hour; this controller deletes a request when its time has come.
package certificates

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// How long requests stay.
const (
	decided = time.Hour      // with a certificate, denied or failed
	pending = 24 * time.Hour // without a decision, or without a certificate
)

// Cleaner returns the controller that deletes CertificateSigningRequests: an hour after they were
// denied, have failed, or were approved and have a certificate; when the certificate expires; and after
// a day without a decision or a certificate.
func Cleaner() reconcile.Controller {
	return reconcile.Controller{Name: "csrcleaner", For: kinds.CertificateSigningRequest, Reconcile: control.OnExisting(kinds.CertificateSigningRequest, clean)}
}

func clean(c control.Call, request *unstructured.Unstructured) (reconcile.Result, error) {
	until, ends := end(request)
	switch {
	case !ends || fields.IsTerminating(request):
		return reconcile.Result{}, nil
	case c.Now.After(until):
		return reconcile.Result{}, control.IgnoreNotFound(c.Client.Delete(c.Context, kinds.CertificateSigningRequest, control.NameOf(request), metav1.DeleteOptions{}))
	}
	return reconcile.Result{After: until.Sub(c.Now) + time.Second}, nil
}

// end returns until when a request stays.
func end(request *unstructured.Unstructured) (until time.Time, ends bool) {
	first := func(t time.Time) {
		if !t.IsZero() && (!ends || t.Before(until)) {
			until, ends = t, true
		}
	}
	conditions, certificate := fields.Maps(request.Object, "status", "conditions"), fields.String(request.Object, "status", "certificate")
	if len(conditions) == 0 {
		first(request.GetCreationTimestamp().Add(pending))
	}
	for _, condition := range conditions {
		written, err := time.Parse(time.RFC3339, fields.String(condition, "lastUpdateTime"))
		kind := fields.String(condition, "type")
		if kind == "Approved" {
			first(expiry(certificate))
		}
		switch {
		case err != nil:
		case kind == "Denied" || kind == "Failed" || kind == "Approved" && certificate != "":
			first(written.Add(decided))
		case kind == "Approved":
			first(written.Add(pending))
		}
	}
	return until, ends
}

// expiry returns when a certificate ends; the zero time for one that cannot be read.
func expiry(encoded string) time.Time {
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return time.Time{}
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return time.Time{}
	}
	found, err := x509.ParseCertificates(block.Bytes)
	if err != nil || len(found) == 0 {
		return time.Time{}
	}
	return found[0].NotAfter
}
