package main

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// inPods matches the functions and types of e2e.test, and the commands of kubectl, that need a
// process in a Pod: they execute programs, read what programs print, connect to them, or wait for
// probes and hooks which programs answer. It also matches the functions that skip a spec where no
// provisioner of volumes runs, or where the cluster is not in a cloud.
var inPods = regexp.MustCompile(`^(Exec(Command|Shell|With).*|exec|cp|attach|logs|port-forward|RunHostCmd.*|SSH|IssueSSHCommand.*|` +
	`Get.*PodLogs.*|.*ContainerOutput.*|LookForString.*|GetPodOutput.*|` +
	`New(Core)?NetworkingTestConfig|WaitForPodsResponding|VerifyPods?Responding|ServeHostname.*|[vV]alidateServices.*|StartServeHostnameService|` +
	`deploy(CustomResource)?Webhook.*|SetUpSampleAPIServer|CreateNFSServer.*|NewNFSServer.*|InjectContent|TestVolumeClient.*|TestBasicSubpath.*|` +
	`PauseNewPods|[sS]etHTTPProbe|[bB]reakHTTPProbe.*|VerifyPodContainersCgroup.*|VerifyCgroup.*|ExpectPodResized|testReachable.*|TestReachable.*|` +
	`newAgnhostPod.*|launchHostExecPod|CreateExecPod.*|NewHostExec.*|validateProxyVerbRequest|` +
	`ExecAction|HTTPGetAction|TCPSocketAction|GRPCAction|` +
	`SkipIfNoDefaultStorageClass|SkipUnlessProviderIs|SkipUnlessSSHKeyPresent|SkipUnlessMultizone.*|SkipIfAppArmor.*|SkipUnlessNodeOSDistro.*)$`)

// withDrivers are the packages of e2e.test whose specs start a driver of volumes in a Pod.
var withDrivers = regexp.MustCompile(`^(storage/(testsuites|csimock|drivers|external|vsphere)|windows|dra|upgrades|cloud)`)

// processes reads from the source of e2e.test which specs need a process in a Pod.
type processes struct {
	dir   string // test/e2e
	files *token.FileSet
	pkgs  map[string]*sources
}

// sources are the files of a package, and the names that each of its functions uses.
type sources struct {
	files map[string]*ast.File
	uses  map[string]map[string]bool
}

// newProcesses finds the source of the module that e2e.test is built from.
func newProcesses(ctx context.Context) (*processes, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes")
	cmd.Dir, cmd.Env = kubebin, append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := cmd.Output()
	dir := strings.TrimSpace(string(out))
	if err != nil || dir == "" {
		return nil, fmt.Errorf("-draw: finding the source of e2e.test: go mod download k8s.io/kubernetes in %s: %w", kubebin, err)
	}
	return &processes{dir: filepath.Join(dir, "test", "e2e"), files: token.NewFileSet(), pkgs: map[string]*sources{}}, nil
}

// neededBy returns a name that a spec uses, directly or through functions of its package, and that
// needs a process in a Pod. It returns "" without one.
func (p *processes) neededBy(s spec) (string, error) {
	_, file, _ := strings.Cut(s.file, "test/e2e/")
	if dir := filepath.Dir(file); withDrivers.MatchString(dir) {
		return dir, nil
	}
	pkg, err := p.read(filepath.Dir(file))
	if err != nil {
		return "", err
	}
	parsed, ok := pkg.files[filepath.Base(file)]
	if !ok {
		return "", fmt.Errorf("%s: no such file in %s", file, p.dir)
	}
	seen := map[string]bool{}
	for name := range p.usedBy(parsed, s.line) {
		if word := pkg.search(name, seen); word != "" {
			return word, nil
		}
	}
	return "", nil
}

// read parses a package once.
func (p *processes) read(dir string) (*sources, error) {
	if pkg, ok := p.pkgs[dir]; ok {
		return pkg, nil
	}
	paths, err := filepath.Glob(filepath.Join(p.dir, dir, "*.go"))
	if err != nil {
		return nil, err
	}
	pkg := &sources{files: map[string]*ast.File{}, uses: map[string]map[string]bool{}}
	for _, path := range paths {
		f, err := parser.ParseFile(p.files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		pkg.files[filepath.Base(path)] = f
		pkg.add(f)
	}
	p.pkgs[dir] = pkg
	return pkg, nil
}

// add adds what the functions of a file use, and functions that are values of variables.
func (s *sources) add(f *ast.File) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Body != nil {
				addNames(s.names(n.Name.Name), n.Body)
			}
		case *ast.AssignStmt:
			for i, value := range n.Rhs {
				if fn, ok := value.(*ast.FuncLit); ok && len(n.Lhs) == len(n.Rhs) {
					addNames(s.names(nameOf(n.Lhs[i])), fn.Body)
				}
			}
		}
		return true
	})
}

// names returns the names that the functions and methods of one name use.
func (s *sources) names(function string) map[string]bool {
	if s.uses[function] == nil {
		s.uses[function] = map[string]bool{}
	}
	return s.uses[function]
}

// search follows a name through the functions of the package.
func (s *sources) search(name string, seen map[string]bool) string {
	if inPods.MatchString(name) {
		return name
	}
	if seen[name] {
		return ""
	}
	seen[name] = true
	for used := range s.uses[name] {
		if word := s.search(used, seen); word != "" {
			return word
		}
	}
	return ""
}

// usedBy returns the names in the call that adds the spec at a line, and in the set-up of the
// containers around it.
func (p *processes) usedBy(f *ast.File, line int) map[string]bool {
	var calls []*ast.CallExpr // around the line, from the outside in
	ast.Inspect(f, func(n ast.Node) bool {
		if n == nil || p.files.Position(n.Pos()).Line > line || p.files.Position(n.End()).Line < line {
			return false
		}
		if call, ok := n.(*ast.CallExpr); ok && hasFunction(call) {
			calls = append(calls, call)
		}
		return true
	})
	names := map[string]bool{}
	for i, call := range calls {
		if i == len(calls)-1 || p.files.Position(call.Pos()).Line == line {
			addNames(names, call)
			break
		}
		addSetUp(names, call)
	}
	return names
}

func hasFunction(call *ast.CallExpr) bool {
	for _, arg := range call.Args {
		if _, ok := arg.(*ast.FuncLit); ok {
			return true
		}
	}
	return false
}

// setUp matches the functions of Ginkgo that run before each spec of a container.
var setUp = regexp.MustCompile(`^(Just)?Before(Each|All)$`)

// addSetUp adds the names that the set-up of a container uses.
func addSetUp(names map[string]bool, container *ast.CallExpr) {
	for _, arg := range container.Args {
		body, ok := arg.(*ast.FuncLit)
		if !ok {
			continue
		}
		for _, statement := range body.Body.List {
			if e, ok := statement.(*ast.ExprStmt); ok {
				if call, ok := e.X.(*ast.CallExpr); ok && setUp.MatchString(nameOf(call.Fun)) {
					addNames(names, call)
				}
			}
		}
	}
}

func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// addNames adds identifiers, and constant strings such as the commands of kubectl.
func addNames(names map[string]bool, n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			names[n.Name] = true
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil {
				names[text] = true
			}
		}
		return true
	})
}
