package kstatus_test

import (
	"encoding/json"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

// healthCase is a case of the conformance corpus, whose README explains it.
type healthCase struct {
	Name, Manifest, WantStatus string
	Suspended                  bool
}

// differences are the cases of Argo CD on which Extended says something else, and why we think that
// it is right. Objects that are being deleted, which are Terminating to us and whatever they were
// to Argo CD, are not listed.
var differences = []struct{ names, why string }{
	{`^(gateway|gloo)\.solo\.io/.*-pending$`,
		"Pending is the state before Gloo has validated an object: it will go on by itself, so that it is in progress, not suspended."},
	{`^_\.cnrm\.cloud\.google\.com/_/dependency_not_ready$`,
		"Config Connector goes on as soon as the dependency is ready; nobody has to resume anything."},
	{`^apps\.openshift\.io/DeploymentConfig/degraded$`,
		"Progressing is Unknown and the deployer Pod has not run yet: the first roll-out is on its way."},
	{`^core\.spinkube\.dev/SpinApp/progressing$`,
		"The condition is that of the Deployment: Progressing=True with reason NewReplicaSetAvailable is how a finished roll-out looks."},
	{`^game\.kruise\.io/GameServer/degraded$`,
		"OpenKruiseGame sets KruisePodReady=False for the time of an update in place."},
	{`^kafka\.banzaicloud\.io/KafkaCluster/degraded$`,
		"ConfigOutOfSync is the state of a broker that the operator has yet to roll."},
	{`^microgateway\.airlock\.com/_/degraded_multiple_ancestors$`,
		"One ancestor has accepted the policy, the other has not said anything about it yet."},
	{`^microgateway\.airlock\.com/_/unknown$`,
		"No ancestor has said anything yet."},
	{`^operator\.knative\.dev/KnativeServing/degraded$`,
		"A status that is none of True, False and Unknown tells nothing."},
	{`^projectcontour\.io/HTTPProxy/parent_child$`,
		"Contour calls the object invalid, and does not serve it; Argo CD leaves proxies with includes out of account."},
	{`^pxc\.percona\.com/PerconaXtraDBCluster/stopping$`,
		"A cluster that is stopping is on its way to being paused."},
	{`^standalone/hpa-v1-healthy$`,
		"The metrics cannot be read, so that nothing is scaled; the newer rules of Argo CD say the same."},
}

func readCases(t *testing.T, file string) []healthCase {
	t.Helper()
	data, err := os.ReadFile("../../shared/conformance/health/" + file)
	if err != nil {
		t.Skip("the conformance corpus is not here: ", err)
	}
	var cases []healthCase
	require.NoError(t, json.Unmarshal(data, &cases))
	return cases
}

func explained(name string) bool {
	for _, d := range differences {
		if regexp.MustCompile(d.names).MatchString(name) {
			return true
		}
	}
	return false
}

// TestEveryDifferenceIsExplained holds Extended against Argo CD's own cases: it agrees, or the
// table says why not.
func TestEveryDifferenceIsExplained(t *testing.T) {
	for _, file := range []string{"argo.json", "gitops.json"} {
		for _, c := range readCases(t, file) {
			r := kstatus.Extended().Compute(parse(t, c.Manifest), now)
			switch {
			case c.WantStatus == "" || r.Status == kstatus.Terminating:
			case string(r.Status) != c.WantStatus:
				require.True(t, explained(c.Name), "%s: want %s, got %s", c.Name, c.WantStatus, r)
			default:
				require.False(t, explained(c.Name), "%s: there is no difference", c.Name)
				require.True(t, r.Suspended || !c.Suspended, "%s: want suspended, got %s", c.Name, r)
			}
		}
	}
}

// A score is how rules do on the cases that have a status, objects that are being deleted apart.
type score struct{ agree, total, falseCurrent int }

func scoreOf(t *testing.T, rules *kstatus.Rules) (s score) {
	for _, c := range readCases(t, "argo.json") {
		r := rules.Compute(parse(t, c.Manifest), now)
		if c.WantStatus == "" || r.Status == kstatus.Terminating {
			continue
		}
		s.total++
		switch {
		case string(r.Status) == c.WantStatus:
			s.agree++
		case r.Status == kstatus.Current:
			s.falseCurrent++
		}
	}
	return s
}

func TestScores(t *testing.T) {
	extended, generic := scoreOf(t, kstatus.Extended()), scoreOf(t, kstatus.Extended().Generic())
	t.Logf("extended %+v, generic %+v", extended, generic)
	require.GreaterOrEqual(t, 100*extended.agree, 95*extended.total)
	require.LessOrEqual(t, 100*extended.falseCurrent, extended.total)
	require.GreaterOrEqual(t, 100*generic.agree, 75*generic.total)
}
