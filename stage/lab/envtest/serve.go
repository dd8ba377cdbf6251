package envtest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	certutil "k8s.io/client-go/util/cert"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// labVariable is the variable of the environment with the number of Nodes of the lab.
const labVariable = "STAGECRAFT_LAB"

// serveAPI serves a cluster in memory, and has the lab follow the clock of the machine.
func serveAPI(ctx context.Context, f flags, stderr io.Writer) error {
	o, err := listenOptions(f)
	if err != nil {
		return err
	}
	o.Middleware = warnOf(f.warnings())
	cluster, follow, err := newCluster(os.Getenv(labVariable), stderr)
	if err != nil {
		return err
	}
	o.Bare = follow == nil
	listener, err := apiserver.Listen(cluster, o)
	if err != nil {
		return err
	}
	fmt.Fprintf(stderr, "serving a Kubernetes in memory at %s\n", listener.URL())
	if follow != nil {
		err = follow(ctx)
	} else {
		<-ctx.Done()
	}
	return errors.Join(err, listener.Close())
}

// newCluster returns a cluster, and what plays its lab until the context is done; nil without a lab.
func newCluster(nodes string, stderr io.Writer) (*memory.Cluster, func(context.Context) error, error) {
	if nodes == "" || nodes == "0" {
		return memory.New(memory.Options{RequireNamespaces: true, LateCollection: true, Seed: uint64(os.Getpid())}), nil, nil
	}
	count, err := strconv.Atoi(nodes)
	if err != nil || count < 0 || count > mostNodes {
		return nil, nil, fmt.Errorf("%s: want the number of Nodes, from 0 to %d, got %q", labVariable, mostNodes, nodes)
	}
	t := &starting{}
	lab := labtest.New(t, labtest.Options{Nodes: count, Start: time.Now(), Seed: uint64(os.Getpid())})
	if t.err != nil {
		return nil, nil, t.err
	}
	return lab.Cluster(), func(ctx context.Context) error {
		err := lab.Simulation().Follow(ctx, 1)
		for _, use := range lab.NotModelled() {
			fmt.Fprintln(stderr, "not modelled:", use)
		}
		return err
	}, nil
}

const mostNodes = 10_000

// A starting is the T of a lab in a program. It keeps the first error.
type starting struct{ err error }

func (s *starting) Helper() {}

func (s *starting) Fatalf(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
}

// listenOptions returns the options that flags ask for; all faults at once.
func listenOptions(f flags) (o apiserver.ListenOptions, err error) {
	host := f.last("bind-address")
	if host == "" || host == "0.0.0.0" || host == "::" {
		host = "127.0.0.1"
	}
	port := f.last("secure-port")
	if port == "" {
		port = "6443" // as kube-apiserver
	}
	o.Address = net.JoinHostPort(host, port)
	modes := f.list("authorization-mode")
	o.RBAC = slices.Contains(modes, "RBAC")
	o.ServiceAccounts = !slices.Contains(f.list("disable-admission-plugins"), "ServiceAccount")
	var faults [3]error
	o.Certificate, faults[0] = certificateOf(f)
	o.ClientCAs, faults[1] = clientCAs(f.last("client-ca-file"))
	faults[2] = checkModes(modes)
	return o, errors.Join(faults[:]...)
}

// certificateOf returns the certificate of the server; nil if no file has it.
func certificateOf(f flags) (*tls.Certificate, error) {
	cert, key := f.last("tls-cert-file"), f.last("tls-private-key-file")
	if cert == "" && f.has("cert-dir") {
		cert, key = filepath.Join(f.last("cert-dir"), "apiserver.crt"), filepath.Join(f.last("cert-dir"), "apiserver.key")
		if _, err := os.Stat(cert); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
	}
	if cert == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("the certificate of the server: %w", err)
	}
	return &pair, nil
}

func clientCAs(file string) ([]*x509.Certificate, error) {
	if file == "" {
		return nil, nil
	}
	all, err := certutil.CertsFromFile(file)
	if err != nil {
		return nil, fmt.Errorf("--client-ca-file: %w", err)
	}
	return all, nil
}

func checkModes(modes []string) error {
	for _, mode := range modes {
		if mode != "RBAC" && mode != "Node" && mode != "AlwaysAllow" {
			return fmt.Errorf("--authorization-mode=%s is not modelled: want RBAC, Node or AlwaysAllow", mode)
		}
	}
	return nil
}

// warnings says which flags have no effect.
func (f flags) warnings() (texts []string) {
	for _, name := range f.withoutEffect() {
		texts = append(texts, fmt.Sprintf("--%s=%s has no effect on a kube-apiserver in memory", name, strings.Join(f[name], ",")))
	}
	for _, plugin := range f.list("disable-admission-plugins") {
		if plugin != "ServiceAccount" {
			texts = append(texts, fmt.Sprintf("--disable-admission-plugins=%s has no effect on a kube-apiserver in memory", plugin))
		}
	}
	return texts
}

// warnOf puts warnings into the answer to the first write.
func warnOf(texts []string) func(http.Handler) http.Handler {
	if len(texts) == 0 {
		return nil
	}
	var told atomic.Bool
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet && told.CompareAndSwap(false, true) {
				for _, text := range texts {
					w.Header().Add("Warning", fmt.Sprintf("299 - %q", text))
				}
			}
			next.ServeHTTP(w, r)
		})
	}
}
