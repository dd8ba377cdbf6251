package envtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// flags are the flags of a program with their values, in the order in which they were given.
type flags map[string][]string

// parseFlags reads --name=value, --name value, and --name, which is true.
func parseFlags(args []string) (flags, error) {
	f := flags{}
	for i := 0; i < len(args); i++ {
		name, isFlag := strings.CutPrefix(args[i], "--")
		if !isFlag {
			name, isFlag = strings.CutPrefix(args[i], "-")
		}
		if !isFlag || name == "" {
			return nil, fmt.Errorf("argument %d: want a flag such as --secure-port=6443, got %q", i+1, args[i])
		}
		name, value, hasValue := strings.Cut(name, "=")
		switch {
		case hasValue:
		case i+1 < len(args) && !strings.HasPrefix(args[i+1], "-"):
			i++
			value = args[i]
		default:
			value = "true"
		}
		if name == "h" {
			name = "help"
		}
		f[name] = append(f[name], value)
	}
	return f, nil
}

func (f flags) has(name string) bool { return len(f[name]) > 0 }

// last returns the value of a flag that was given last; "" without one.
func (f flags) last(name string) string {
	if values := f[name]; len(values) > 0 {
		return values[len(values)-1]
	}
	return ""
}

// list returns all values of a flag that takes several, separated by commas.
func (f flags) list(name string) (all []string) {
	for _, value := range f[name] {
		for part := range strings.SplitSeq(value, ",") {
			if part = strings.TrimSpace(part); part != "" {
				all = append(all, part)
			}
		}
	}
	return all
}

// withoutEffect returns the flags that are neither used nor without meaning for a cluster in memory.
func (f flags) withoutEffect() (names []string) {
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if _, known := meaning[name]; !known && !strings.HasPrefix(name, "etcd-") {
			names = append(names, name)
		}
	}
	return names
}

// meaning says what the stand-in for kube-apiserver does with a flag.
var meaning = map[string]string{
	"bind-address":                     "the address on which the server listens; 0.0.0.0 is 127.0.0.1",
	"secure-port":                      "the port; 0 is a free one",
	"cert-dir":                         "the directory with apiserver.crt and apiserver.key",
	"tls-cert-file":                    "the certificate of the server",
	"tls-private-key-file":             "its key",
	"client-ca-file":                   "signs the certificates of clients",
	"disable-admission-plugins":        "of these, ServiceAccount",
	"authorization-mode":               "AlwaysAllow, or RBAC, Node or both",
	"allow-privileged":                 "nothing: privileged Pods are always allowed",
	"advertise-address":                "nothing",
	"insecure-port":                    "nothing: there is no insecure port, as since Kubernetes 1.24",
	"service-cluster-ip-range":         "nothing: the range is 10.96.0.0/12",
	"service-account-issuer":           "nothing",
	"service-account-key-file":         "nothing",
	"service-account-signing-key-file": "nothing",
	"v":                                "nothing",
	"vmodule":                          "nothing",
}

const apiserverHelp = `A stand-in for kube-apiserver 1.36 with a cluster in memory.

Flags:
  --bind-address string                 the address on which the server listens; 0.0.0.0 is 127.0.0.1
  --secure-port int                     the port; 0 is a free one
  --cert-dir string                     the directory with apiserver.crt and apiserver.key
  --tls-cert-file string                the certificate of the server
  --tls-private-key-file string         its key
  --client-ca-file string               signs the certificates of clients
  --authorization-mode strings          AlwaysAllow, RBAC, Node
  --disable-admission-plugins strings   of these, ServiceAccount
The first write names the other flags of kube-apiserver that were given: they have no effect.

Environment:
  STAGECRAFT_LAB=3   controllers, a scheduler and 3 Nodes with kubelets act on the objects
`
