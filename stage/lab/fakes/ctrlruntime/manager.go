package ctrlruntime

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// Setup returns the controllers that a function sets up with a manager, usually by SetupWithManager
// of its reconcilers. The reconcilers are unchanged: their predicates, watches, mappers and indexes
// decide what they see. For the function of hunt.Run.Process:
//
//	r.Process("operator", func(p *hunt.Process) []reconcile.Controller {
//		return ctrlruntime.Setup(p, ctrlruntime.Options{Scheme: scheme}, func(m manager.Manager) error {
//			return (&WebsiteReconciler{Client: m.GetClient()}).SetupWithManager(m)
//		})
//	})
//
// The client of the manager is [Client]. Its APIReader is the APIReader of the process. The manager
// runs nothing by itself: its webhooks are not called, Events are dropped, and handlers that ask
// for a key after a delay get it at once. It refuses what it cannot do: runnables other than
// controllers, sources other than informers (channels), and requests other than reconcile.Request.
// An error fails the hunt.
func Setup(p *hunt.Process, o Options, do func(manager.Manager) error) []reconcile.Controller {
	c, reader := Client(p, o).(*conn), APIReader(p, o).(*conn)
	m := &recorder{process: p, client: c, reader: reader}
	m.cache = &informers{conn: c, context: p.Context()}
	if err := do(managerOf(m, manager.Manager.GetEventRecorder)); err != nil {
		p.Fail(fmt.Errorf("setup: %w", err))
	}
	return m.made()
}

// A recorder is a manager that keeps the controllers that are added to it.
type recorder struct {
	manager.Manager // nil: for methods that later versions add
	process         *hunt.Process
	client, reader  *conn
	cache           *informers
	webhooks        webhook.Server
	controllers     []*recorded
}

// made returns the controllers.
func (m *recorder) made() (all []reconcile.Controller) {
	m.reader.indexes = m.client.indexes
	for _, c := range m.controllers {
		lab, err := c.start(m.cache)
		if err != nil {
			m.process.Fail(fmt.Errorf("setup: controller %s: %w", c.name, err))
		}
		all = append(all, lab)
	}
	return all
}

func (m *recorder) Add(r manager.Runnable) error {
	c, err := recordedOf(r)
	if err == nil {
		m.controllers = append(m.controllers, c)
	}
	return err
}

func (m *recorder) GetClient() client.Client { return m.client }

func (m *recorder) GetAPIReader() client.Reader { return m.reader }

func (m *recorder) GetCache() cache.Cache { return m.cache }

func (m *recorder) GetFieldIndexer() client.FieldIndexer { return m.cache }

func (m *recorder) GetScheme() *runtime.Scheme { return m.client.server.Scheme }

func (m *recorder) GetRESTMapper() meta.RESTMapper { return m.client.RESTMapper() }

func (m *recorder) GetEventRecorderFor(string) record.EventRecorder { return &record.FakeRecorder{} }

// A versioned manager has the method whose result differs between versions of controller-runtime.
type versioned[R any] struct{ *recorder }

func (versioned[R]) GetEventRecorder(string) R {
	made, _ := any(&events.FakeRecorder{}).(R)
	return made
}

// managerOf returns the recorder as a manager. The function is the method of a manager, which tells
// the type of its result.
func managerOf[R any](m *recorder, _ func(manager.Manager, string) R) manager.Manager {
	made, _ := any(versioned[R]{m}).(manager.Manager)
	return made
}

func (m *recorder) GetLogger() logr.Logger { return logr.Discard() }

func (m *recorder) GetControllerOptions() config.Controller {
	always := true // each life of the process has a controller of each name
	return config.Controller{SkipNameValidation: &always, Logger: logr.Discard()}
}

func (m *recorder) GetConfig() *rest.Config { return &rest.Config{} }

func (m *recorder) GetHTTPClient() *http.Client { return &http.Client{Transport: noNetwork{}} }

func (m *recorder) GetWebhookServer() webhook.Server {
	if m.webhooks == nil {
		m.webhooks = webhook.NewServer(webhook.Options{})
	}
	return m.webhooks
}

func (m *recorder) Elected() <-chan struct{} {
	elected := make(chan struct{})
	close(elected)
	return elected
}

func (m *recorder) AddMetricsServerExtraHandler(string, http.Handler) error { return nil }

func (m *recorder) AddHealthzCheck(string, healthz.Checker) error { return nil }

func (m *recorder) AddReadyzCheck(string, healthz.Checker) error { return nil }

func (m *recorder) Start(context.Context) error {
	return errors.New("the hunt calls the controllers: the manager is not started")
}

// noNetwork refuses requests.
type noNetwork struct{}

func (noNetwork) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("there is no network in a hunt")
}
