package controlplane

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Controllers are processes that use the API server.
type Controllers struct{ children []*child }

// programs are the controllers and their own flags. Nodes that send no heartbeats stay ready for a
// day.
var programs = map[string][]string{
	"kube-controller-manager": {"--controllers=*", "--node-monitor-grace-period=24h"},
	"kube-scheduler":          nil,
}

// StartControllers starts kube-controller-manager, with all controllers, and kube-scheduler. They
// begin to work within a second or two.
func (p *Plane) StartControllers() (*Controllers, error) {
	c := &Controllers{}
	for name, flags := range programs {
		common := []string{"--kubeconfig=" + p.kubeconfig, "--leader-elect=false", "--secure-port=0", "--kube-api-qps=1000", "--kube-api-burst=2000"}
		child, err := startChild(filepath.Join(p.assets, name), p.dir, append(common, flags...))
		if err != nil {
			return nil, errors.Join(err, c.Stop())
		}
		c.children = append(c.children, child)
	}
	return c, nil
}

// StartProgram starts another program, such as kwok. [Plane.Kubeconfig] is its configuration.
func (p *Plane) StartProgram(path string, args ...string) (*Controllers, error) {
	c, err := startChild(path, p.dir, args)
	if err != nil {
		return nil, err
	}
	return &Controllers{children: []*child{c}}, nil
}

// Stop stops the processes. It returns an error, with the end of the log, for a process that had
// ended before.
func (c *Controllers) Stop() error {
	var errs []error
	for _, child := range c.children {
		errs = append(errs, child.stop())
	}
	return errors.Join(errs...)
}

// A child is a process that ends with this one.
type child struct {
	cmd   *exec.Cmd
	log   string
	ended chan error
}

func startChild(program, dir string, args []string) (*child, error) {
	log, err := os.CreateTemp(dir, filepath.Base(program)+"-*.log")
	if err != nil {
		return nil, err
	}
	defer log.Close()
	c := &child{cmd: exec.Command(program, args...), log: log.Name(), ended: make(chan error, 1)}
	c.cmd.Dir, c.cmd.Stdout, c.cmd.Stderr = dir, log, log
	c.cmd.SysProcAttr = killWithParent()
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { c.ended <- c.cmd.Wait() }()
	return c, nil
}

// stopTimeout is how long a process may take to end.
const stopTimeout = 10 * time.Second

func (c *child) stop() error {
	select {
	case err := <-c.ended:
		return fmt.Errorf("%s ended by itself: %v\n%s", c.cmd.Path, err, c.tail())
	default:
	}
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-c.ended:
	case <-time.After(stopTimeout):
		_ = c.cmd.Process.Kill()
		<-c.ended
	}
	return nil
}

// tail returns the end of the log.
func (c *child) tail() string {
	const most = 4000
	text, err := os.ReadFile(c.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-most):])
}
