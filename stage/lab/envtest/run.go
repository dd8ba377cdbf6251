package envtest

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// A program is one of the stand-ins.
type program struct {
	help  string
	serve func(context.Context, flags, io.Writer) error // until ctx is done
}

var programs = map[string]program{
	etcdName:      {etcdHelp, serveEtcd},
	apiserverName: {apiserverHelp, serveAPI},
}

// Run runs one of the stand-ins until ctx is done. The first of args is the name under which the program
// was started, as in os.Args. The result is the exit code.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	p, given := programs[programName(args[0])], args[1:]
	if p.serve == nil {
		fmt.Fprintf(stderr, "envtest: %q is neither %s nor %s\n", args[0], etcdName, apiserverName)
		return 2
	}
	f, err := parseFlags(given)
	if err == nil && (f.has("help") || f.has("version")) {
		fmt.Fprint(stdout, map[bool]string{true: p.help, false: versionText}[f.has("help")])
		return 0
	}
	if err == nil {
		err = p.serve(ctx, f, stderr)
	}
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", programName(args[0]), err)
		return 1
	}
	return 0
}

const versionText = "Kubernetes v1.36.3, in memory, by stagecraft\n"

const etcdHelp = `A stand-in for etcd that stores nothing: the stand-in for kube-apiserver has its objects in memory.

Flags:
  --listen-client-urls string   answers /health there
All other flags have no effect.
`

// serveEtcd answers that etcd is healthy.
func serveEtcd(ctx context.Context, f flags, _ io.Writer) error {
	first, _, _ := strings.Cut(f.last("listen-client-urls"), ",")
	at, err := url.Parse(first)
	if err != nil || at.Host == "" {
		return fmt.Errorf("--listen-client-urls: want a URL such as http://127.0.0.1:2379, got %q", first)
	}
	socket, err := net.Listen("tcp", at.Host)
	if err != nil {
		return err
	}
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(answerEtcd)}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(socket); ctx.Err() == nil {
		return err
	}
	return nil
}

func answerEtcd(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/health" {
		http.Error(w, "this is a stand-in for etcd, which stores nothing", http.StatusNotImplemented)
		return
	}
	fmt.Fprint(w, `{"health":"true","reason":""}`)
}
